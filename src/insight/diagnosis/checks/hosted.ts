/** A hosted control plane: its servers, agents and certificates, and every call through its tunnel. */

import { reasonOf } from "../../../base/errors/error.js";
import { failed, failureOf, type Judgement, ok, skipped, warning } from "../../../base/finding.js";
import { names } from "../../../cluster/hosted/model/names.js";
import { hasContainer } from "../../../cluster/kube/pods.js";
import type { StrategyCount } from "../../../tunnel/events/facts.js";
import { strategyCountsText } from "../../../tunnel/server/strategy-counts.js";
import { defineCheck } from "../check.js";
import { isHarmless } from "../rehearsal/calls.js";
import { probeWebhook } from "../rehearsal/webhook-probe.js";
import { judgeStrategies } from "./admin.js";

/** A check of a condition that HyperShift would write. */
const conditionCheck = (
  id: string,
  about: string,
  fact: "infrastructureReady" | "dataPlaneConnection" | "controlPlaneConnection",
  remedy: string,
) =>
  defineCheck({
    ...{ id, about, needs: [fact] },
    judge({ [fact]: { failure, ...condition } }) {
      const { status, reason, message, type } = condition;
      const text = `${type}=${status} (${reason}): ${message}`;
      // Unknown is not a failure: there is nothing yet to judge by.
      const hasFailed = status === "False" || reason === "ReconcileError" || reason === "InfraStatusFailure";
      const judgement =
        status === "True" ? ok(text) : hasFailed ? failed(text, failure?.remedy ?? remedy) : skipped(text);
      return { ...judgement, code: failure?.code, details: { condition } };
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
    if (!hasContainer(spec?.template?.spec, names.server)) {
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

export const hostedStrategies = defineCheck({
  ...{ id: "strategies", about: "Every strategy of the servers has agents", needs: ["serverStrategies"] },
  judge({ serverStrategies }) {
    return serverStrategies.map(({ pod, counts, failure }) => ({ ...judgePod(counts, failure), subject: pod }));
  },
});

function judgePod(counts: readonly StrategyCount[] | undefined, failure: string | undefined): Judgement {
  if (failure !== undefined) {
    return skipped(`its metrics cannot be read: ${failure}`, "It needs the right to get pods/proxy in that namespace.");
  }
  if (counts === undefined) {
    return skipped("the server does not say how many agents each strategy has: it is not drawbridge's");
  }
  const isEmpty = counts.every(({ agents: count }) => count === 0);
  const judgement = isEmpty
    ? warning(strategyCountsText(counts), "See why no agent is connected: the agents' finding and logs.")
    : judgeStrategies(counts);
  return { ...judgement, details: { strategies: counts } };
}

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
    const message = `${ready} of ${wanted} nodes have one that is ready`;
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
