/** Nodes: whether they are Ready, the labels and taints of their pool, and how they are drained. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { isConflict, isNotFound, KubeApiError } from "../../kube/errors.js";
import { change } from "../../kube/objects.js";
import { collectionPath } from "../../kube/paths.js";
import { isReady, type Pod } from "../../kube/pods.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { annotation, label, type Metadata, type Node, type Taint } from "../objects.js";
import type { NodePool } from "../pool/node-pool.js";
import type { Deadline } from "./deadline.js";

export const NODES_PATH = collectionPath("Node");

export function nodePath(name: string): string {
  return `${NODES_PATH}/${encodeURIComponent(name)}`;
}

/** The reason of the kubelet or of the node controller; empty when the node is Ready. */
export function whyNotReady(node: Node): string {
  if (isReady(node)) return "";
  const condition = node.status?.conditions?.find(({ type }) => type === "Ready");
  if (condition === undefined) return "its kubelet has reported nothing yet";
  return [condition.reason, condition.message].filter(Boolean).join(": ") || `Ready is ${condition.status}`;
}

const ATTEMPTS = 10;

/** Writes what `make` returns, if anything. Kubelets and controllers write all the time, so conflicts are repeated. */
export async function changeNode(api: KubeApi, name: string, make: (node: Node) => Node | undefined) {
  return (await change(api, nodePath(name), ATTEMPTS, make))?.object;
}

type NodeSettings = ReturnType<typeof nodeSettingsOf>;

const LONGEST_LABEL = 63;
const TAINT_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** Labels and taints of a pool's nodes. On platform None nobody else puts them there. */
export function nodeSettingsOf(pool: NodePool) {
  const { nodeLabels = {}, taints = [] } = pool.spec ?? {};
  const name = pool.metadata?.name ?? "";
  return {
    labels: nodeLabels,
    // A label that HyperShift's own nodes have; a node without it is complete.
    poolLabels: name.length > LONGEST_LABEL ? {} : { [label.nodePool]: name },
    taints: (taints as readonly Partial<Taint>[]).map((taint) => checked(taint, name)),
  };
}

function checked({ effect = "", key = "", value }: Partial<Taint>, pool: string): Taint {
  if (key === "" || !TAINT_EFFECTS.includes(effect)) {
    throw new DrawbridgeError(
      "DB_NODEPOOL",
      `pool ${pool}: spec.taints needs a key and an effect (${TAINT_EFFECTS.join(", ")})`,
    );
  }
  return { key, effect, ...(value === undefined ? {} : { value }) };
}

/** The missing labels and taints in words; empty when the node has all. */
export function missingSettings(node: Node, { labels, taints }: NodeSettings): string[] {
  return [
    ...missingLabels(node, labels).map(([key, value]) => `label ${key}=${value}`),
    ...taints.filter((taint) => !hasTaint(node, taint)).map((taint) => `taint ${taintText(taint)}`),
  ];
}

/** All else on the node stays, also a hash that it has: that is the one it was made with. */
export async function labelNode(api: KubeApi, name: string, settings: NodeSettings, hash: string): Promise<boolean> {
  let isChanged = false;
  await changeNode(api, name, (node) => {
    const isKnown = node.metadata?.annotations?.[annotation.currentConfigVersion] !== undefined || hash === "";
    const isOurs = missingLabels(node, settings.poolLabels).length === 0;
    isChanged = missingSettings(node, settings).length > 0 || !isKnown || !isOurs;
    return isChanged ? labelledNode(node, settings, hash) : undefined;
  });
  return isChanged;
}

function missingLabels({ metadata }: Node, labels: NodeSettings["labels"]) {
  return Object.entries(labels).filter(([key, value]) => metadata?.labels?.[key] !== value);
}

function labelledNode(node: Node, { poolLabels, labels, taints }: NodeSettings, hash: string): Node {
  const isReplaced = (old: Taint) => taints.some(({ effect, key }) => old.key === key && old.effect === effect);
  const { metadata, spec } = node;
  return {
    ...node,
    metadata: {
      ...metadata,
      labels: { ...metadata?.labels, ...labels, ...poolLabels },
      annotations: {
        ...(hash === "" ? {} : { [annotation.currentConfigVersion]: hash }),
        ...metadata?.annotations,
      },
    },
    spec: { ...spec, taints: [...(spec?.taints ?? []).filter((old) => !isReplaced(old)), ...taints] },
  };
}

const IN_PLACE = "machineconfiguration.openshift.io/currentConfig";

/** The hash of the configuration that a node itself says it runs; undefined when it does not. */
export function hashOfNode({ metadata }: Node): string | undefined {
  const upgraded = metadata?.annotations?.[IN_PLACE] ?? "";
  // After an upgrade in place it is the pool's hash, before that a rendered configuration's name.
  if (/^[0-9a-f]{8}$/.test(upgraded)) return upgraded;
  return metadata?.annotations?.[annotation.currentConfigVersion];
}

function hasTaint({ spec }: Node, { effect, key, value = "" }: Taint): boolean {
  return (spec?.taints ?? []).some(
    (taint) => taint.key === key && taint.effect === effect && (taint.value ?? "") === value,
  );
}

function taintText({ effect, key, value }: Taint): string {
  return `${key}${value === undefined ? "" : `=${value}`}:${effect}`;
}

/** Rejects, before anything is changed, with every pod that prevents the nodes from being drained. */
export async function requireDrainable(api: KubeApi, nodes: readonly string[], rules: DrainRules): Promise<void> {
  const obstacles: string[] = [];
  for (const node of nodes) obstacles.push(...sortPods(await podsOn(api, node), rules).obstacles);
  if (obstacles.length === 0) return;
  throw new DrawbridgeError("DB_WORKERS_DRAIN", `pods prevent it: ${shortened(obstacles)}`);
}

export async function cordon(api: KubeApi, name: string): Promise<Node | undefined> {
  return changeNode(api, name, (node) =>
    node.spec?.unschedulable === true ? undefined : { ...node, spec: { ...node.spec, unschedulable: true } },
  );
}

/**
 * Empties a node by evictions, which respect PodDisruptionBudgets, and waits until its pods are gone. A node whose kubelet is
 * away cannot end its pods: they are evicted, and end with their Node.
 */
export async function drain(api: KubeApi, node: Node, rules: DrainRules, deadline: Deadline): Promise<void> {
  const name = node.metadata?.name ?? "";
  const asked = new Set<string>();
  const blocked = new Map<string, string>();
  const waits = isReady(node);
  try {
    await deadline.poll(`draining ${name}`, async () => {
      const { leave, obstacles } = sortPods(await podsOn(api, name), rules);
      if (obstacles.length > 0) throw notDrainable(name, obstacles);
      blocked.clear();
      for (const pod of leave) {
        const uid = pod.metadata?.uid ?? podName(pod);
        if (asked.has(uid) || pod.metadata?.deletionTimestamp !== undefined) continue;
        const refusal = await evict(api, pod);
        if (refusal !== undefined) blocked.set(podName(pod), refusal);
        else {
          asked.add(uid);
          deadline.progress.log(`${name}: ${podName(pod)} is evicted`);
        }
      }
      const isDone = waits ? leave.length === 0 : blocked.size === 0;
      if (!isDone) deadline.progress.status(`draining ${name}, pods left: ${leave.length}${because(blocked)}`);
      return isDone || undefined;
    });
  } catch (reason) {
    const isLate = reason instanceof DrawbridgeError && reason.code === "DB_WORKERS_WAIT";
    if (blocked.size === 0 || !isLate) throw reason;
    const refusals = [...blocked].map(([pod, refusal]) => `${pod}: ${refusal}`);
    throw new DrawbridgeError("DB_WORKERS_DRAIN", `${name} could not be drained in time: ${shortened(refusals)}`);
  }
}

/** Why the pod cannot be evicted now; undefined once it is evicted. */
async function evict(api: KubeApi, pod: NodePod): Promise<string | undefined> {
  const { name = "", namespace = "", uid } = pod.metadata ?? {};
  const eviction = {
    ...{ apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } },
    // Not the one that has taken its place.
    deleteOptions: uid === undefined ? {} : { preconditions: { uid } },
  };
  try {
    await api.create<KubeObject>(`${podPath(pod)}/eviction`, eviction, { timeoutMs: 5000 });
    return undefined;
  } catch (reason) {
    if (isNotFound(reason) || isConflict(reason)) return undefined;
    if (reason instanceof KubeApiError && reason.status === 429) return reason.detail;
    throw reason;
  }
}

async function podsOn(api: KubeApi, node: string): Promise<readonly NodePod[]> {
  try {
    return (await api.list<NodePod>(collectionPath("Pod"), { fieldSelector: `spec.nodeName=${node}` })).items;
  } catch (reason) {
    // A directory of objects knows no pods.
    if (isNotFound(reason)) return [];
    throw reason;
  }
}

function notDrainable(node: string, obstacles: readonly string[]): DrawbridgeError {
  return new DrawbridgeError("DB_WORKERS_DRAIN", `pods prevent ${node} from being drained: ${shortened(obstacles)}`);
}

function because(blocked: ReadonlyMap<string, string>): string {
  const [first] = blocked;
  return first === undefined ? "" : `; ${first[0]}: ${first[1]}`;
}

function shortened(all: readonly string[]): string {
  return `${all.slice(0, 5).join("; ")}${all.length > 5 ? `; and ${all.length - 5} more` : ""}`;
}

export interface DrainRules {
  /** Pods that nothing would start elsewhere. */
  readonly force: boolean;
  /** Pods with scratch space, which is lost. */
  readonly deleteEmptyDirData: boolean;
}

/** The pods that leave, and a sentence for each pod that must not. */
export function sortPods(pods: readonly NodePod[], rules: DrainRules) {
  const leave: NodePod[] = [];
  const obstacles: string[] = [];
  for (const pod of pods) {
    if (isKept(pod)) continue;
    const obstacle = hasEnded(pod) ? undefined : obstacleOf(pod, rules);
    if (obstacle === undefined) leave.push(pod);
    else obstacles.push(obstacle);
  }
  return { leave, obstacles };
}

/** Static pods of the kubelet, and pods that a DaemonSet would start again on the same node. */
function isKept(pod: NodePod): boolean {
  if (pod.metadata?.annotations?.["kubernetes.io/config.mirror"] !== undefined) return true;
  return controllerOf(pod)?.kind === "DaemonSet" && !hasEnded(pod);
}

function obstacleOf(pod: NodePod, { deleteEmptyDirData, force }: DrainRules): string | undefined {
  if (controllerOf(pod) === undefined && !force) {
    return `${podName(pod)} would not be started elsewhere (--force lets it go)`;
  }
  const hasScratch = pod.spec?.volumes?.some(({ emptyDir }) => emptyDir !== undefined && emptyDir !== null);
  if (hasScratch && !deleteEmptyDirData) {
    return `${podName(pod)} would lose its scratch space (--delete-emptydir-data lets it go)`;
  }
  return undefined;
}

function controllerOf({ metadata }: NodePod) {
  return metadata?.ownerReferences?.find(({ controller }) => controller === true);
}

function hasEnded({ status }: NodePod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

/** A pod with what decides whether it may be evicted. */
export interface NodePod extends Pod {
  readonly metadata?: Metadata;
  readonly spec?: Pod["spec"] & {
    readonly volumes?: readonly { readonly name: string; readonly emptyDir?: object | null }[];
  };
}

export function podsPath(namespace: string): string {
  return collectionPath("Pod", namespace);
}

export function podPath({ metadata }: NodePod): string {
  return `${podsPath(metadata?.namespace ?? "")}/${encodeURIComponent(metadata?.name ?? "")}`;
}

function podName({ metadata }: NodePod): string {
  return `${metadata?.namespace}/${metadata?.name}`;
}
