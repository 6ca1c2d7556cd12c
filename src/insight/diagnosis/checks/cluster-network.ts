/** What the network of a hosted cluster needs beside its control plane, without which no node becomes Ready. */
import { coded, type Judgement, ok, skipped } from "../../../base/finding.js";
import { pathOf } from "../../../cluster/nodes/objects.js";
import { whyNotReady } from "../../../cluster/nodes/workers/node.js";
import { defineCheck } from "../check.js";
import type { MissingSecret } from "../sources/cluster-network.js";
import type { PoolState } from "../sources/pool.js";
import { provideSecret, recipeFor } from "../workers/network-secrets.js";

export const clusterNetwork = defineCheck({
  ...{ id: "ovn-certificate", about: "The Secrets that the cluster network mounts beside the control plane are there" },
  needs: ["networkSecrets", "poolState"],
  judge({ networkSecrets: { deployments, missing, namespace }, poolState }) {
    if (deployments.length === 0) return skipped(`${namespace} has no control plane of OVN-Kubernetes`);
    if (missing.length === 0)
      return ok(`every Secret that ${deployments.join(" and ")} mount in ${namespace} is there`);
    return missing.map((one) => judgeMissing(one, poolState));
  },
});

/** HyperShift, or OpenShift's service-ca, makes a Secret this soon after the Deployment. */
const YOUNG_MS = 30_000;

function judgeMissing(missing: MissingSecret, state: PoolState): Judgement {
  const { ageMs, at, deployments, isServiceCas, service, troubles } = missing;
  const users = deployments.join(" and ");
  const notReady = state.members.flatMap(({ name, node }) => (node && whyNotReady(node) !== "" ? [name] : []));
  const failed = coded(
    "DB_NODE_OVN_CERT",
    `the Secret ${pathOf(at)} is missing, so ${users} of ${state.object.spec?.clusterName} ${deployments.length > 1 ? "do" : "does"} not start`,
    `management cluster: Deployment ${deployments.map((name) => pathOf({ ...at, name })).join(", ")} mounts it`,
    ...troubles,
    ...(isServiceCas ? [`Service ${at.namespace}/${service} asks OpenShift's service-ca for it`] : []),
    ...(notReady.length === 0 ? [] : [`not Ready: ${notReady.join(", ")}`]),
  );
  if (ageMs < YOUNG_MS) {
    const remedy = "Wait half a minute: HyperShift, or OpenShift's service-ca, makes it soon after the Deployment.";
    return { ...failed, state: "warning", remedy };
  }
  const recipe = recipeFor(missing, state.context.now);
  if (recipe === undefined) return { ...failed, remedy: remedyWithout(missing) };
  return { ...failed, fix: provideSecret(state.context, missing, recipe) };
}

function remedyWithout({ at, isServiceCas, service }: MissingSecret): string {
  if (isServiceCas) {
    return `See why OpenShift's service-ca does not make it for the Service ${at.namespace}/${service}: the hosted API server accepts no other authority.`;
  }
  const maker = `HyperShift's control-plane-operator in ${at.namespace}, which makes it`;
  if (service === undefined) return `Look at the log of ${maker}.`;
  return `There is no Secret ${at.namespace}/root-ca to issue it from: look at the log of ${maker}.`;
}
