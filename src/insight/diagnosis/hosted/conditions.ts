/** The conditions that HyperShift writes about a hosted cluster, found out by reading its objects. */
import { messageOf } from "../../../base/errors/error.js";
import { publishedAddress } from "../../../cluster/hosted/apply/apply.js";
import type { HostedConfig } from "../../../cluster/hosted/config/config.js";
import { AGENT_NAMESPACE, names } from "../../../cluster/hosted/model/names.js";
import { isNotFound } from "../../../cluster/kube/errors.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";

export interface HostedCondition {
  readonly type: "DataPlaneConnectionAvailable" | "ControlPlaneConnectionAvailable" | "InfrastructureReady";
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

type ConditionState = Omit<HostedCondition, "type">;

const state = (status: HostedCondition["status"], reason: string, message: string): ConditionState => ({
  status,
  reason,
  message,
});
const asExpected = state("True", "AsExpected", "All is well");
/** The checker stamps every minute. */
const STALE_MS = 5 * 60_000;

interface Node extends KubeObject {
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

interface Pod extends KubeObject {
  readonly status?: { readonly phase?: string };
}

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** The kubelet's log stream comes back through the tunnel or not at all. */
export async function dataPlaneConnection(hosted: KubeApi): Promise<HostedCondition> {
  const nodes = await workers(hosted);
  return { type: "DataPlaneConnectionAvailable", ...(nodes ?? (await logsOfAgents(hosted))) };
}

async function logsOfAgents(hosted: KubeApi): Promise<ConditionState> {
  const path = `/api/v1/namespaces/${AGENT_NAMESPACE}/pods`;
  let pods: readonly Pod[];
  try {
    pods = (await hosted.list<Pod>(path, { labelSelector: `app=${names.agent}` })).items;
  } catch (reason) {
    return state("False", "ReconciliationError", `the agents' pods cannot be listed: ${messageOf(reason)}`);
  }
  const running = pods.filter(({ status }) => status?.phase === "Running");
  if (running.length === 0)
    return state("False", "KonnectivityAgentPodsNotFound", `no pod ${AGENT_NAMESPACE}/${names.agent} is running`);
  let last = "every log was empty";
  for (const { metadata } of running) {
    try {
      const query = `container=${names.agent}&tailLines=1&limitBytes=1024`;
      const log = await hosted.text(`${path}/${metadata?.name}/log?${query}`, { timeoutMs: 15_000 });
      if (log !== "") return asExpected;
    } catch (reason) {
      last = messageOf(reason);
    }
  }
  // HyperShift gives the reason of missing pods here, though its own list has this one.
  return state("False", "LogsAccessFailed", `no log of ${running.length} running agents could be read: ${last}`);
}

/** The other direction: whether workers reach the kube-apiserver, as a checker among them stamps it. */
export async function controlPlaneConnection(hosted: KubeApi, now = Date.now()): Promise<HostedCondition> {
  const nodes = await workers(hosted);
  return { type: "ControlPlaneConnectionAvailable", ...(nodes ?? (await lastStamp(hosted, now))) };
}

async function lastStamp(hosted: KubeApi, now: number): Promise<ConditionState> {
  const name = names.connectivityCheck;
  let map: ConfigMap;
  try {
    map = await hosted.get<ConfigMap>(`/api/v1/namespaces/${AGENT_NAMESPACE}/configmaps/${name}`);
  } catch (reason) {
    if (isNotFound(reason))
      return state("Unknown", "ConfigMapNotFound", `there is no ConfigMap ${AGENT_NAMESPACE}/${name}`);
    return state("Unknown", "ReconcileError", messageOf(reason));
  }
  const text = map.data?.lastSucceeded ?? "";
  const stamp = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(stamp))
    return state("False", "KASAccessFailed", `no worker has reached the kube-apiserver (lastSucceeded is "${text}")`);
  if (now - stamp > STALE_MS)
    return state("False", "ConnectionCheckStale", `workers reached the kube-apiserver last at ${text}`);
  return asExpected;
}

/** Undefined when there is a node to judge by. */
async function workers(hosted: KubeApi): Promise<ConditionState | undefined> {
  let nodes: readonly Node[];
  try {
    nodes = (await hosted.list<Node>("/api/v1/nodes")).items;
  } catch (reason) {
    return state("Unknown", "ReconcileError", `nodes cannot be listed: ${messageOf(reason)}`);
  }
  const usable = nodes.filter(
    ({ spec, status }) =>
      spec?.unschedulable !== true &&
      status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True"),
  );
  if (usable.length > 0) return undefined;
  return state("Unknown", "NoWorkerNodesAvailable", `none of ${nodes.length} nodes is ready and schedulable`);
}

export async function infrastructureReady(management: KubeApi, config: HostedConfig): Promise<HostedCondition> {
  const type = "InfrastructureReady";
  try {
    const { host, port } = await publishedAddress(management, config.controlPlaneNamespace, config.publishing);
    if (host === undefined || port === undefined)
      return {
        type,
        ...state(
          "False",
          "WaitingOnInfrastructureReady",
          `the ${config.publishing.type} of ${names.server} has no ${host === undefined ? "host" : "port"} yet`,
        ),
      };
    return { type, ...asExpected, message: `agents dial ${host}, port ${port}` };
  } catch (reason) {
    return { type, ...state("Unknown", "InfraStatusFailure", messageOf(reason)) };
  }
}
