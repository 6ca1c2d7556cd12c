/** Which pods leave a node that is drained, and which keep it from being drained; kubectl's rules. */
import { type Pod, podName } from "./pod.js";

export interface DrainRules {
  /** Pods that nothing would start elsewhere. */
  readonly force: boolean;
  /** Pods with scratch space, which is lost. */
  readonly deleteEmptyDirData: boolean;
}

export interface Sorted {
  readonly leave: readonly Pod[];
  /** One sentence each. */
  readonly obstacles: readonly string[];
}

export function sortPods(pods: readonly Pod[], rules: DrainRules): Sorted {
  const leave: Pod[] = [];
  const obstacles: string[] = [];
  for (const pod of pods) {
    if (stays(pod)) continue;
    const obstacle = isOver(pod) ? undefined : obstacleOf(pod, rules);
    if (obstacle === undefined) leave.push(pod);
    else obstacles.push(obstacle);
  }
  return { leave, obstacles };
}

/** The kubelet's own, and those that a DaemonSet would start again right here. */
function stays(pod: Pod): boolean {
  if (pod.metadata?.annotations?.["kubernetes.io/config.mirror"] !== undefined) return true;
  return controllerOf(pod)?.kind === "DaemonSet" && !isOver(pod);
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

function isOver({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}
