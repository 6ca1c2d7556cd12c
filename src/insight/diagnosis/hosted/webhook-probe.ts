/**
 * Lets the hosted kube-apiserver itself call a webhook, by the route that it always takes. A configuration that selects nothing
 * but our own request sends it first to the webhook, then to an address where nobody answers: a refusal that names the
 * second proves that the first was asked and answered. Dry run: nothing is stored.
 */
import { randomBytes } from "node:crypto";
import { pause, systemClock } from "../../../base/clock.js";
import { failed, type Judgement, ok, skipped } from "../../../base/finding.js";
import { KubeApiError } from "../../../cluster/kube/errors.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";

export interface WebhookTarget {
  readonly service: {
    readonly name: string;
    readonly namespace: string;
    readonly path?: string;
    readonly port?: number;
  };
  readonly caBundle?: string | undefined;
  readonly timeoutSeconds: number;
  readonly failurePolicy: string;
}

export const PROBE_LABEL = "drawbridge-hosted-verify";
const CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const [asked, guard] = ["asked.hosted.drawbridge.test", "guard.hosted.drawbridge.test"];
/** The kube-apiserver learns of configurations by a watch. */
const IN_FORCE_MS = 20_000;

export async function probeWebhook(hosted: KubeApi, target: WebhookTarget): Promise<Judgement> {
  const id = randomBytes(6).toString("hex");
  const name = `${PROBE_LABEL}-${id}`;
  try {
    await hosted.create(CONFIGURATIONS, configuration(name, id, target));
    return judge(await refusalOf(hosted, name, id), target);
  } finally {
    await hosted.delete(`${CONFIGURATIONS}/${name}`).catch(() => undefined);
  }
}

/** Of a verify that was killed. They select nobody else's requests, but nobody wants to find them. */
export async function removeForgotten(hosted: KubeApi): Promise<void> {
  const { items } = await hosted.list(CONFIGURATIONS, { labelSelector: PROBE_LABEL });
  for (const { metadata } of items) await hosted.delete(`${CONFIGURATIONS}/${metadata?.name}`).catch(() => undefined);
}

function configuration(name: string, id: string, { service, caBundle, timeoutSeconds }: WebhookTarget): KubeObject {
  const common = {
    rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
    objectSelector: { matchLabels: { [PROBE_LABEL]: id } },
    failurePolicy: "Fail",
    sideEffects: "None",
    admissionReviewVersions: ["v1", "v1beta1"],
  };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name, labels: { [PROBE_LABEL]: id } },
    webhooks: [
      {
        ...common,
        name: asked,
        timeoutSeconds,
        clientConfig: { service, ...(caBundle === undefined ? {} : { caBundle }) },
      },
      // Nothing listens on port 1 of the kube-apiserver's own host.
      { ...common, name: guard, timeoutSeconds: 5, clientConfig: { url: "https://127.0.0.1:1/" } },
    ],
  } as KubeObject;
}

async function refusalOf(hosted: KubeApi, name: string, id: string): Promise<string | undefined> {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels: { [PROBE_LABEL]: id } } };
  const deadline = Date.now() + IN_FORCE_MS;
  do {
    try {
      await hosted.create("/api/v1/namespaces/default/configmaps?dryRun=All", object, { timeoutMs: 45_000 });
    } catch (reason) {
      if (reason instanceof KubeApiError && reason.status !== 0) return reason.detail;
      throw reason;
    }
    await pause(systemClock, 200);
  } while (Date.now() < deadline);
  return undefined;
}

function judge(refusal: string | undefined, { failurePolicy }: WebhookTarget): Judgement {
  if (refusal === undefined) return skipped("the kube-apiserver did not use the probe's configuration");
  if (refusal.includes(`failed calling webhook "${guard}"`))
    return { ...ok("it answered"), details: { answer: "allowed" } };
  if (refusal.includes(`admission webhook "${asked}" denied`))
    return { ...ok("it answered, with no"), details: { answer: "denied" } };
  const failure = new RegExp(`failed calling webhook "${asked}": (.*)`, "s").exec(refusal)?.[1];
  if (failure === undefined) return skipped(`another admission rule came first: ${refusal}`);
  const effect = failurePolicy === "Ignore" ? "requests pass unjudged" : "requests it should judge are refused";
  const remedy = "See its pods and Service in the hosted cluster, and the servers' log for the dial.";
  return { ...failed(failure, remedy), details: { effect } };
}
