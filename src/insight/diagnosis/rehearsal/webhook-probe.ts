/**
 * Lets the hosted kube-apiserver itself call a webhook, by the route that it always takes. A configuration that selects nothing
 * but our own request sends it first to the webhook, then to an address where nothing listens: a refusal that names the
 * second proves that the first was asked and answered. Dry run: nothing is stored.
 */
import { randomBytes } from "node:crypto";
import { failed, type Judgement, ok, skipped } from "../../../base/finding.js";
import { probeAdmission, probeConfiguration } from "../../../cluster/kube/admission-probe.js";
import { KubeApiError } from "../../../cluster/kube/errors.js";
import { collectionPath } from "../../../cluster/kube/paths.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";
import type { AdmissionWebhook } from "./calls.js";

export const PROBE_LABEL = "drawbridge-hosted-verify";
const CONFIGURATIONS = collectionPath("MutatingWebhookConfiguration");
const [asked, guard] = ["asked.hosted.drawbridge.test", "guard.hosted.drawbridge.test"];

export async function probeWebhook(hosted: KubeApi, webhook: AdmissionWebhook): Promise<Judgement> {
  const { clientConfig, failurePolicy, timeoutSeconds = 10 } = webhook;
  const id = randomBytes(6).toString("hex");
  const probe = { name: `${PROBE_LABEL}-${id}`, label: PROBE_LABEL, id, namespace: "default" };
  const configuration = probeConfiguration(probe, [
    { name: asked, timeoutSeconds, clientConfig },
    // Nothing listens on port 1 of the kube-apiserver's own host.
    { name: guard, timeoutSeconds: 5, clientConfig: { url: "https://127.0.0.1:1/" } },
  ]);
  try {
    await hosted.create(CONFIGURATIONS, configuration);
    return judge(await probeAdmission(hosted, probe, refusalOf), failurePolicy);
  } finally {
    await hosted.delete(`${CONFIGURATIONS}/${probe.name}`).catch(() => undefined);
  }
}

/** Removes configurations that a killed verify left; they select no requests but its own. */
export async function removeForgotten(hosted: KubeApi): Promise<void> {
  const { items } = await hosted.list(CONFIGURATIONS, { labelSelector: PROBE_LABEL });
  for (const { metadata } of items) await hosted.delete(`${CONFIGURATIONS}/${metadata?.name}`).catch(() => undefined);
}

async function refusalOf(create: () => Promise<KubeObject>): Promise<string | undefined> {
  try {
    await create();
    return undefined;
  } catch (reason) {
    if (reason instanceof KubeApiError && reason.status !== 0) return reason.detail;
    throw reason;
  }
}

function judge(refusal: string | undefined, failurePolicy: AdmissionWebhook["failurePolicy"]): Judgement {
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
