/** Empties a node by evictions, which respect PodDisruptionBudgets, and waits until its pods are gone. */

import { DrawbridgeError } from "../../../base/errors/error.js";
import { isNotFound, KubeApiError } from "../../kube/errors.js";
import { collectionPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import type { Metadata, Node, StatusCondition } from "../objects.js";
import type { Deadline } from "./deadline.js";
import { changeNode, isReady } from "./node.js";

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

/** A node whose kubelet is away cannot end its pods: they are evicted, and end with their Node. */
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
async function evict(api: KubeApi, pod: Pod): Promise<string | undefined> {
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
    if (isNotFound(reason)) return undefined;
    if (reason instanceof KubeApiError && reason.status === 409) return undefined;
    if (reason instanceof KubeApiError && reason.status === 429) return reason.detail;
    throw reason;
  }
}

async function podsOn(api: KubeApi, node: string): Promise<readonly Pod[]> {
  try {
    return (await api.list<Pod>(collectionPath("Pod"), { fieldSelector: `spec.nodeName=${node}` })).items;
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
export function sortPods(pods: readonly Pod[], rules: DrainRules) {
  const leave: Pod[] = [];
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
function isKept(pod: Pod): boolean {
  if (pod.metadata?.annotations?.["kubernetes.io/config.mirror"] !== undefined) return true;
  return controllerOf(pod)?.kind === "DaemonSet" && !hasEnded(pod);
}

function obstacleOf(pod: Pod, { deleteEmptyDirData, force }: DrainRules): string | undefined {
  if (controllerOf(pod) === undefined && !force) {
    return `${podName(pod)} would not be started elsewhere (--force lets it go)`;
  }
  const hasScratch = pod.spec?.volumes?.some(({ emptyDir }) => emptyDir !== undefined && emptyDir !== null);
  if (hasScratch && !deleteEmptyDirData) {
    return `${podName(pod)} would lose its scratch space (--delete-emptydir-data lets it go)`;
  }
  return undefined;
}

function controllerOf({ metadata }: Pod) {
  return metadata?.ownerReferences?.find(({ controller }) => controller === true);
}

function hasEnded({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

export interface Pod extends KubeObject {
  readonly metadata?: Metadata;
  readonly spec?: {
    readonly nodeName?: string;
    readonly volumes?: readonly { readonly name: string; readonly emptyDir?: object | null }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly StatusCondition[];
    readonly containerStatuses?: readonly {
      readonly state?: { readonly waiting?: { readonly reason?: string; readonly message?: string } };
    }[];
  };
}

export function podsPath(namespace: string): string {
  return collectionPath("Pod", namespace);
}

export function podPath({ metadata }: Pod): string {
  return `${podsPath(metadata?.namespace ?? "")}/${encodeURIComponent(metadata?.name ?? "")}`;
}

function podName({ metadata }: Pod): string {
  return `${metadata?.namespace}/${metadata?.name}`;
}
