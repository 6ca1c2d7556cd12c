/** Pods, and objects that report conditions, as far as drawbridge reads them. */
import type { KubeObject } from "./port.js";

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastUpdateTime?: string;
  readonly lastTransitionTime?: string;
}

export interface ConditionedObject extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** A container of a pod, as far as it says what runs in it. */
export interface PodContainer {
  readonly name?: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
}

interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly terminated?: { readonly exitCode?: number; readonly reason?: string };
  readonly running?: object;
}

interface ContainerStatus {
  readonly name?: string;
  readonly restartCount?: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

/** What a pod mounts, as far as it decides whether the pod starts and what it is for. */
interface PodVolume {
  readonly name?: string;
  readonly secret?: { readonly secretName?: string; readonly optional?: boolean };
  readonly hostPath?: { readonly path?: string };
  readonly emptyDir?: object;
}

export interface PodSpec {
  readonly nodeName?: string;
  readonly initContainers?: readonly PodContainer[];
  readonly containers?: readonly PodContainer[];
  readonly volumes?: readonly PodVolume[];
}

/** Native sidecars included. */
export const hasContainer = ({ containers = [], initContainers = [] }: PodSpec = {}, name: string): boolean =>
  [...initContainers, ...containers].some((container) => container.name === name);

export interface Pod extends ConditionedObject {
  readonly spec?: PodSpec;
  readonly status?: ConditionedObject["status"] & {
    readonly phase?: string;
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

export interface Deployment extends KubeObject {
  readonly metadata?: KubeObject["metadata"] & { readonly creationTimestamp?: string };
  readonly spec?: { readonly template?: { readonly spec?: PodSpec } };
}

/** A pod or a node that says so itself; undefined is not Ready. */
export const isReady = (object: ConditionedObject | undefined): boolean =>
  object?.status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ?? false;
