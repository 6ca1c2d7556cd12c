/** The facts of a hosted control plane, from the management cluster and the hosted cluster. */

import { type Cause, causeOf, messageOf, reasonOf } from "../../../base/errors/error.js";
import { currentCertificates, publishedAddress } from "../../../cluster/hosted/apply/apply.js";
import type { HostedClusters } from "../../../cluster/hosted/apply/clusters.js";
import type { HostedConfig } from "../../../cluster/hosted/config/config.js";
import { hostedModel } from "../../../cluster/hosted/model/model.js";
import { AGENT_NAMESPACE, names } from "../../../cluster/hosted/model/names.js";
import { profileOf } from "../../../cluster/hosted/model/profiles.js";
import { find } from "../../../cluster/kube/objects.js";
import { collectionPath, namedPath } from "../../../cluster/kube/paths.js";
import { hasContainer, isReady, type Pod, type PodSpec } from "../../../cluster/kube/pods.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";
import type { ConfigMap, Node } from "../../../cluster/nodes/objects.js";
import type { StrategyCount } from "../../../tunnel/events/facts.js";
import { strategyCountsIn } from "../../../tunnel/server/strategy-counts.js";
import { type FactSource, unavailable } from "../check.js";
import { listApiServices, listWebhooks } from "../rehearsal/calls.js";
import { PROBE_LABEL, removeForgotten } from "../rehearsal/webhook-probe.js";

export interface HostedWorkload extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: { readonly spec?: PodSpec };
  };
  readonly status?: Readonly<Partial<Record<"readyReplicas" | "numberReady" | "desiredNumberScheduled", number>>>;
}

export interface HostedControlPlane {
  readonly clusters: HostedClusters;
  readonly config: HostedConfig;
  /** The version of drawbridge. */
  readonly version: string;
}

export function hostedSource({ clusters: { hosted, management }, config, version }: HostedControlPlane): FactSource {
  const { aggregatedApis, controlPlaneNamespace: namespace, publishing } = config;
  const workload = async (api: KubeApi, kind: "Deployment" | "DaemonSet", place: string, name: string) => ({
    workload: await find<HostedWorkload>(api, namedPath(kind, { namespace: place, name })),
  });
  return {
    hostedConfig: () => config,
    hostedApi: () =>
      hosted ?? unavailable("no kubeconfig of the hosted cluster was given", "Give --hosted-kubeconfig."),
    infrastructureReady: () => infrastructureReady(management, config),
    dataPlaneConnection: async (facts) => dataPlaneConnection(await facts.get("hostedApi")),
    controlPlaneConnection: async (facts) => controlPlaneConnection(await facts.get("hostedApi")),

    async issuedCertificates() {
      const { host } = await publishedAddress(management, namespace, publishing);
      return currentCertificates(management, hostedModel(config, { version, host }));
    },

    async apiServerDeployment() {
      const { workload: found } = await workload(management, "Deployment", namespace, names.apiServer);
      return found ?? unavailable(`there is no Deployment ${namespace}/${names.apiServer}`);
    },

    serverStrategies: () => serverStrategies(management, config),

    controlPlaneAgents: () =>
      aggregatedApis.length === 0
        ? unavailable(
            "the configuration names none of the control plane's own aggregated APIs (aggregatedApis), so no agent is needed for them",
          )
        : workload(management, "Deployment", namespace, names.agent),

    agents: async (facts) => workload(await facts.get("hostedApi"), "DaemonSet", AGENT_NAMESPACE, names.agent),

    async webhooks(facts) {
      const api = await facts.get("hostedApi");
      await removeForgotten(api);
      const found = await listWebhooks(api, facts.signal);
      return found.filter(({ configuration }) => configuration?.labels?.[PROBE_LABEL] === undefined);
    },

    apiServices: async (facts) => listApiServices(await facts.get("hostedApi"), facts.signal),
  };
}

export interface ServerStrategies {
  readonly pod: string;
  readonly counts?: readonly StrategyCount[] | undefined;
  /** Why its metrics were not read. */
  readonly failure?: string;
}

/** The health port is on every interface of the pod, and the management cluster's API server reaches it. */
async function serverStrategies(
  management: KubeApi,
  { controlPlaneNamespace: namespace, profile }: HostedConfig,
): Promise<readonly ServerStrategies[]> {
  const options = { labelSelector: `app=${names.apiServer}` };
  const { items } = await management.list<Pod>(collectionPath("Pod", namespace), options);
  const running = items.filter(({ spec, status }) => status?.phase === "Running" && hasContainer(spec, names.server));
  return Promise.all(
    running.map(async ({ metadata }) => {
      const pod = metadata?.name ?? "";
      const path = namedPath("Pod", { namespace, name: `${pod}:${profileOf(profile).ports.health}` });
      try {
        return { pod, counts: strategyCountsIn(await management.text(`${path}/proxy/metrics`, { timeoutMs: 15_000 })) };
      } catch (reason) {
        return { pod, failure: reasonOf(reason) };
      }
    }),
  );
}

/** A condition that HyperShift writes about a hosted cluster, found out by reading its objects. */
export type HostedCondition = Omit<ReturnType<typeof condition>, "failure">;

/** With why the API could not be asked, where that is the reason. */
export type ObservedCondition = HostedCondition & { readonly failure?: Cause };

function condition(
  type: "DataPlaneConnectionAvailable" | "ControlPlaneConnectionAvailable" | "InfrastructureReady",
  status: "True" | "False" | "Unknown",
  reason: string,
  message: string,
  failure?: unknown,
) {
  return { type, status, reason, message, ...(failure !== undefined && { failure: causeOf(failure) }) };
}

const asExpected = (type: HostedCondition["type"], message = "All is well") =>
  condition(type, "True", "AsExpected", message);

/** The checker writes its time stamp every minute. */
const STALE_MS = 5 * 60_000;

/** The kubelet's log stream comes back through the tunnel or not at all. */
export async function dataPlaneConnection(hosted: KubeApi): Promise<ObservedCondition> {
  const type = "DataPlaneConnectionAvailable";
  const fail = (reason: string, message: string, failure?: unknown) =>
    condition(type, "False", reason, message, failure);
  const idle = await withoutWorkers(hosted, type);
  if (idle !== undefined) return idle;
  let pods: readonly Pod[];
  try {
    const options = { labelSelector: `app=${names.agent}` };
    pods = (await hosted.list<Pod>(collectionPath("Pod", AGENT_NAMESPACE), options)).items;
  } catch (reason) {
    return fail("ReconciliationError", `the agents' pods cannot be listed: ${messageOf(reason)}`, reason);
  }
  const running = pods.filter(({ status }) => status?.phase === "Running");
  if (running.length === 0)
    return fail("KonnectivityAgentPodsNotFound", `no pod ${AGENT_NAMESPACE}/${names.agent} is running`);
  let last = "every log was empty";
  for (const { metadata } of running) {
    try {
      const path = namedPath("Pod", { namespace: AGENT_NAMESPACE, name: metadata?.name ?? "" });
      const query = `container=${names.agent}&tailLines=1&limitBytes=1024`;
      if ((await hosted.text(`${path}/log?${query}`, { timeoutMs: 15_000 })) !== "") return asExpected(type);
    } catch (reason) {
      last = messageOf(reason);
    }
  }
  // HyperShift gives the reason of missing pods here, though its own list has this one.
  return fail("LogsAccessFailed", `no log of ${running.length} running agents could be read: ${last}`);
}

/** The other direction: whether workers reach the kube-apiserver, by the time stamp of a checker that runs on them. */
export async function controlPlaneConnection(hosted: KubeApi, now = Date.now()): Promise<ObservedCondition> {
  const type = "ControlPlaneConnectionAvailable";
  const idle = await withoutWorkers(hosted, type);
  if (idle !== undefined) return idle;
  const name = names.connectivityCheck;
  let map: ConfigMap | undefined;
  try {
    map = await find<ConfigMap>(hosted, namedPath("ConfigMap", { namespace: AGENT_NAMESPACE, name }));
  } catch (reason) {
    return condition(type, "Unknown", "ReconcileError", messageOf(reason), reason);
  }
  if (map === undefined)
    return condition(type, "Unknown", "ConfigMapNotFound", `there is no ConfigMap ${AGENT_NAMESPACE}/${name}`);
  const text = map.data?.lastSucceeded ?? "";
  const stamp = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  const unreached = `no worker has reached the kube-apiserver (lastSucceeded is "${text}")`;
  if (Number.isNaN(stamp)) return condition(type, "False", "KASAccessFailed", unreached);
  const late = `workers reached the kube-apiserver last at ${text}`;
  return now - stamp > STALE_MS ? condition(type, "False", "ConnectionCheckStale", late) : asExpected(type);
}

/** Undefined when there is a node to judge by. */
async function withoutWorkers(hosted: KubeApi, type: HostedCondition["type"]): Promise<ObservedCondition | undefined> {
  try {
    const nodes = (await hosted.list<Node>(collectionPath("Node"))).items;
    if (nodes.some((node) => node.spec?.unschedulable !== true && isReady(node))) return undefined;
    const message = `none of ${nodes.length} nodes is ready and schedulable`;
    return condition(type, "Unknown", "NoWorkerNodesAvailable", message);
  } catch (reason) {
    return condition(type, "Unknown", "ReconcileError", `nodes cannot be listed: ${messageOf(reason)}`, reason);
  }
}

export async function infrastructureReady(management: KubeApi, config: HostedConfig): Promise<ObservedCondition> {
  const type = "InfrastructureReady";
  try {
    const { host, port } = await publishedAddress(management, config.controlPlaneNamespace, config.publishing);
    if (host !== undefined && port !== undefined) return asExpected(type, `agents dial ${host}, port ${port}`);
    const missing = host === undefined ? "host" : "port";
    const message = `the ${config.publishing.type} of ${names.server} has no ${missing} yet`;
    return condition(type, "False", "WaitingOnInfrastructureReady", message);
  } catch (reason) {
    return condition(type, "Unknown", "InfraStatusFailure", messageOf(reason), reason);
  }
}
