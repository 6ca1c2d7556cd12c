/** The facts of a cluster's network: the Secrets that its control plane mounts, and the pods that provide it on nodes. */
import { messageOf } from "../../../base/errors/error.js";
import { isNotFound } from "../../../cluster/kube/errors.js";
import { find } from "../../../cluster/kube/objects.js";
import { collectionPath, namedPath } from "../../../cluster/kube/paths.js";
import { type Deployment, isReady, type Pod } from "../../../cluster/kube/pods.js";
import type { KubeObject } from "../../../cluster/kube/port.js";
import { nameOf, type ObjectName, pathOf, type Secret } from "../../../cluster/nodes/objects.js";
import { whyNotReady } from "../../../cluster/nodes/workers/node.js";
import type { Clusters } from "../../../cluster/nodes/workers/status.js";
import { unavailable } from "../check.js";
import { podTroubles } from "../pod-troubles.js";
import type { PoolContext, PoolState } from "./pool.js";

/**
 * The Deployments of OVN-Kubernetes that cluster-network-operator runs beside a hosted control plane. Their pods have the
 * label `app` with the same name.
 */
const DEPLOYMENTS = ["ovnkube-control-plane", "network-node-identity"];

/** The Services whose serving certificates the Secrets hold, by the Secret's name. */
const certificateServices: Readonly<Record<string, string>> = {
  "ovn-control-plane-metrics-cert": "ovn-kubernetes-control-plane",
  "network-node-identity-secret": "network-node-identity",
};

/** Asks OpenShift's service-ca to make the Secret. */
const SERVICE_CA_ANNOTATIONS = ["beta", "alpha"].map(
  (version) => `service.${version}.openshift.io/serving-cert-secret-name`,
);

export type NetworkSecrets = Awaited<ReturnType<typeof networkSecrets>>;
export type MissingSecret = NetworkSecrets["missing"][number];

/** The Secrets that the network's Deployments mount beside the control plane, and are not there. */
export async function networkSecrets({ clusters, isHosted, now }: PoolContext, namespace: string) {
  if (!isHosted) return unavailable("nodes join the pool's own cluster", "Name another one with --hosted-kubeconfig.");
  const api = clusters.pools;
  const paths = DEPLOYMENTS.map((name) => namedPath("Deployment", { namespace, name }));
  const found = await Promise.all(paths.map((path) => find<Deployment>(api, path)));
  const deployments = found.filter((one) => one !== undefined);
  const mounts = deployments.flatMap((deployment) => mountedSecrets(deployment).map((name) => ({ name, deployment })));
  const missing = [...new Set(mounts.map(({ name }) => name))].map(async (name) => {
    const at = { namespace, name };
    if ((await find<Secret>(api, namedPath("Secret", at))) !== undefined) return [];
    const users = mounts.filter((mount) => mount.name === name).map(({ deployment }) => deployment);
    const names = users.map((user) => nameOf(user).name);
    const pods = await Promise.all(names.map((app) => podsOf(clusters, namespace, app)));
    const waiting = pods.flat().filter(hasNotStarted);
    return [
      {
        ...{ at, deployments: names, waiting, troubles: await podTroubles(api, waiting) },
        /** NaN when the time is not known. */
        ageMs: now() - Math.max(...users.map(({ metadata }) => Date.parse(metadata?.creationTimestamp ?? ""))),
        ...(await certificateSources(clusters, at)),
      },
    ];
  });
  return {
    namespace,
    deployments: deployments.map((one) => nameOf(one).name),
    missing: (await Promise.all(missing)).flat(),
  };
}

function mountedSecrets({ spec }: Deployment): string[] {
  const volumes = spec?.template?.spec?.volumes ?? [];
  return volumes.flatMap(({ secret }) => (secret?.secretName && !secret.optional ? [secret.secretName] : []));
}

async function podsOf({ pools }: Clusters, namespace: string, app: string): Promise<readonly Pod[]> {
  return (await pools.list<Pod>(collectionPath("Pod", namespace), { labelSelector: `app=${app}` })).items;
}

/** On a node, and without any container that ran: deleting it stops nothing. */
function hasNotStarted({ metadata, spec, status }: Pod): boolean {
  if (metadata?.deletionTimestamp !== undefined) return false;
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return (
    Boolean(spec?.nodeName) && status?.phase === "Pending" && all.every(({ state }) => state?.waiting !== undefined)
  );
}

/** From what the certificate of a Secret can be made. */
async function certificateSources(clusters: Clusters, { name, namespace }: ObjectName) {
  const service = certificateServices[name];
  if (service === undefined) return { service: undefined };
  const ovnCert = "ovn-cert";
  const hostedNamespace = "openshift-ovn-kubernetes";
  const [object, rootCa, beside, inside] = await Promise.all([
    find<KubeObject>(clusters.pools, namedPath("Service", { namespace, name: service })),
    find<Secret>(clusters.pools, namedPath("Secret", { namespace, name: "root-ca" })),
    find<Secret>(clusters.pools, namedPath("Secret", { namespace, name: ovnCert })),
    find<Secret>(clusters.nodes, namedPath("Secret", { namespace: hostedNamespace, name: ovnCert })),
  ]);
  const annotations = object?.metadata?.annotations ?? {};
  const copied =
    beside === undefined
      ? { secret: inside, where: `${hostedNamespace} of the hosted cluster` }
      : { secret: beside, where: `${namespace} of the management cluster` };
  return {
    service,
    /** Whether OpenShift's service-ca is asked for the Secret, and HyperShift leaves it alone. */
    isServiceCas: SERVICE_CA_ANNOTATIONS.some((one) => annotations[one] === name),
    rootCa,
    ovnCert: copied.secret === undefined ? undefined : { secret: copied.secret, where: copied.where },
  };
}

/** More would hide the first ones, and of many nodes the first explain the others. */
const MOST_NODES = 5;
const MOST_LINES = 10;

/** Of the first nodes that are not Ready: why the pods that provide their network do not run, by the node's name. */
export async function nodeNetworks(
  { nodes }: Clusters,
  { members }: PoolState,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const waiting = members.filter(({ node }) => node !== undefined && whyNotReady(node) !== "").slice(0, MOST_NODES);
  return new Map(await Promise.all(waiting.map(async ({ name }) => [name, await networkOf(nodes, name)] as const)));
}

async function networkOf(api: Clusters["nodes"], node: string): Promise<string[]> {
  try {
    const { items } = await api.list<Pod>(collectionPath("Pod"), { fieldSelector: `spec.nodeName=${node}` });
    const pods = items.filter((pod) => pod.spec?.nodeName === node && providesNetwork(pod));
    if (pods.length === 0) return ["no pod on it provides a network: none mounts a directory of CNI"];
    if (pods.every(isReady)) {
      return [`the pods that provide its network are Ready: ${pods.map((pod) => pathOf(nameOf(pod))).join(", ")}`];
    }
    return (await podTroubles(api, pods)).slice(0, MOST_LINES);
  } catch (reason) {
    // A directory of objects has no pods.
    if (isNotFound(reason)) return [];
    return [`its pods could not be read: ${messageOf(reason)}`];
  }
}

/** Whatever its name is, a pod that brings CNI's programs or configuration mounts a directory of the node for them. */
function providesNetwork({ spec }: Pod): boolean {
  return (spec?.volumes ?? []).some(({ hostPath }) => hostPath?.path?.split("/").includes("cni"));
}
