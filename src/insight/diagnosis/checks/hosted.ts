/** A hosted control plane: its servers, agents and certificates, and every call through its tunnel. */

import { randomBytes } from "node:crypto";
import { reasonOf } from "../../../base/errors/error.js";
import { failed, failureOf, type Judgement, ok, skipped } from "../../../base/finding.js";
import { names } from "../../../cluster/hosted/model/names.js";
import { probeAdmission, probeConfiguration } from "../../../cluster/kube/admission-probe.js";
import { KubeApiError } from "../../../cluster/kube/errors.js";
import { collectionPath } from "../../../cluster/kube/paths.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";
import { defineCheck } from "../check.js";
import { type AdmissionWebhook, isHarmless } from "../rehearsal/calls.js";

/** A check of a condition that HyperShift would write. */
const conditionCheck = (
  id: string,
  about: string,
  fact: "infrastructureReady" | "dataPlaneConnection" | "controlPlaneConnection",
  remedy: string,
) =>
  defineCheck({
    ...{ id, about, needs: [fact] },
    judge({ [fact]: condition }) {
      const { status, reason, message, type } = condition;
      const text = `${type}=${status} (${reason}): ${message}`;
      // Unknown is not a failure: there is nothing yet to judge by.
      const hasFailed = status === "False" || reason === "ReconcileError" || reason === "InfraStatusFailure";
      const judgement = status === "True" ? ok(text) : hasFailed ? failed(text, remedy) : skipped(text);
      return { ...judgement, details: { condition } };
    },
  });

export const infrastructure = conditionCheck(
  "infrastructure",
  "Servers are published",
  "infrastructureReady",
  "See the Service's or the Route's events.",
);

export const dataPlane = conditionCheck(
  "data-plane-connection",
  "Pod logs come through the tunnel",
  "dataPlaneConnection",
  "Look at the servers' and the agents' logs (kubectl logs needs the tunnel: use crictl on a node), and whether nodes reach the published address.",
);

export const controlPlane = conditionCheck(
  "control-plane-connection",
  "Workers reach the kube-apiserver",
  "controlPlaneConnection",
  "Check the kube-apiserver's published address from a node.",
);

export const hostedCertificates = defineCheck({
  ...{ id: "certificates", about: "Certificates are as they should be", needs: ["issuedCertificates"] },
  judge({ issuedCertificates: { issued, leaves, signers } }) {
    if (issued.length === 0) return ok(`${leaves.size} certificates of ${signers.size} signers are good`);
    const due = issued.map(({ name, why }) => `${name}: ${why}`).join("; ");
    const remedy = "Run drawbridge hosted apply, which issues what is due and keeps the rest.";
    return { ...failed(`certificates are due: ${due}`, remedy), details: { due: issued } };
  },
});

export const servers = defineCheck({
  ...{ id: "servers", about: "Every kube-apiserver has its server", needs: ["apiServerDeployment", "hostedConfig"] },
  judge({ apiServerDeployment: { spec, status }, hostedConfig: { controlPlaneNamespace, replicas } }) {
    const { containers = [] } = spec?.template?.spec ?? {};
    if (!containers.some(({ name }) => name === names.server)) {
      const remedy = `Patch it: drawbridge hosted render --out DIR writes DIR/patches/${names.apiServer}.yaml.`;
      const deployment = `${controlPlaneNamespace}/${names.apiServer}`;
      return failed(`Deployment ${deployment} has no container ${names.server}`, remedy);
    }
    const [ready = 0, wanted = 1] = [status?.readyReplicas, spec?.replicas];
    const message = `${ready} of ${wanted} pods are ready`;
    if (wanted !== replicas) {
      const remedy = `Set replicas to ${wanted} in the config, apply, and patch the Deployment again.`;
      return failed(`${message}, but agents look for ${replicas} servers`, remedy);
    }
    return judgeReady(ready, wanted, message, "See the pods' events and the server's log.");
  },
});

function judgeReady(ready: number, wanted: number, message: string, remedy: string): Judgement {
  return ready === 0 ? failed(message, remedy) : { ...ok(message), details: { ready, wanted } };
}

const withoutWorkload = (workload: string): Judgement =>
  failed(`their ${workload} does not exist`, "Run drawbridge hosted apply.");

export const controlPlaneAgents = defineCheck({
  ...{ id: "control-plane-agents", about: "Control-plane agents are ready", needs: ["controlPlaneAgents"] },
  judge({ controlPlaneAgents: { workload } }) {
    if (workload === undefined) return [withoutWorkload("Deployment")];
    const [ready = 0, wanted = 1] = [workload.status?.readyReplicas, workload.spec?.replicas];
    return judgeReady(ready, wanted, `${ready} of ${wanted} are ready`, "See the pods' events and logs.");
  },
});

export const agents = defineCheck({
  ...{ id: "agents", about: "Agents are ready", needs: ["agents"] },
  judge({ agents: { workload } }) {
    if (workload === undefined) return [withoutWorkload("DaemonSet")];
    const { desiredNumberScheduled: wanted = 0, numberReady: ready = 0 } = workload.status ?? {};
    const message = `${ready} of ${wanted} nodes have one that is connected`;
    if (wanted === 0) return skipped(message);
    const remedy = "Check that nodes reach the published address, and the events of the agents' pods.";
    return judgeReady(ready, wanted, message, remedy);
  },
});

const NONE = skipped("there is none to be called");

/** Each is called by the hosted kube-apiserver itself, in a dry run. */
export const webhookCalls = defineCheck({
  ...{ id: "webhook", about: "The kube-apiserver reaches the webhook", needs: ["webhooks", "hostedApi"] },
  async judge({ webhooks, hostedApi }) {
    const found: Judgement[] = [];
    for (const webhook of webhooks) {
      // A webhook with a URL is not called through the tunnel.
      if (webhook.clientConfig.service === undefined) continue;
      const judgement = isHarmless(webhook)
        ? await probeWebhook(hostedApi, webhook).catch(failureOf)
        : skipped(`it declares side effects (${webhook.sideEffects}), so it is not called`);
      found.push({ ...judgement, subject: `${webhook.configuration?.name}/${webhook.name}` });
    }
    return found.length > 0 ? found : [NONE];
  },
});

export const apiServiceCalls = defineCheck({
  ...{ id: "apiservice", about: "The kube-apiserver reaches the aggregated API", needs: ["apiServices", "hostedApi"] },
  async judge({ apiServices, hostedApi }) {
    const found: Judgement[] = [];
    for (const { metadata, spec } of apiServices) {
      const { group, service, version } = spec!;
      const judgement = await hostedApi.get(`/apis/${group}/${version}`, { timeoutMs: 30_000 }).then(
        () => ok(`${service?.namespace}/${service?.name} answered`),
        (reason: unknown) => ({
          ...failed(
            reasonOf(reason),
            "See the APIService's status and the pods behind its Service; if the control plane serves it, its address must be among aggregatedApis.",
          ),
          details: { effect: "its kinds cannot be read or written, and namespaces are not deleted" },
        }),
      );
      found.push({ ...judgement, subject: metadata?.name });
    }
    return found.length > 0 ? found : [NONE];
  },
});

export const PROBE_LABEL = "drawbridge-hosted-verify";
const CONFIGURATIONS = collectionPath("MutatingWebhookConfiguration");
const [asked, guard] = ["asked.hosted.drawbridge.test", "guard.hosted.drawbridge.test"];

/**
 * Lets the hosted kube-apiserver itself call a webhook, by the route that it always takes. A configuration that selects nothing
 * but our own request sends it first to the webhook, then to an address where nothing listens: a refusal that names the
 * second proves that the first was asked and answered. Dry run: nothing is stored.
 */
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
