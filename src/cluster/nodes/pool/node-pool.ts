/** The NodePool resource, as far as machines that users manage themselves (platform None) need it. */
import type { KubeObject } from "../../kube/port.js";
import type { Metadata } from "../objects.js";

export const NODE_POOL_VERSION = "hypershift.openshift.io/v1beta1";

export type ConditionStatus = "True" | "False" | "Unknown";

export interface Condition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

export interface NodePoolSpec {
  readonly clusterName?: string;
  readonly release?: { readonly image?: string };
  readonly platform?: { readonly type?: string };
  readonly arch?: string;
  readonly replicas?: number;
  readonly autoScaling?: { readonly min?: number; readonly max?: number };
  readonly management?: {
    readonly upgradeType?: string;
    readonly replace?: {
      readonly strategy?: string;
      readonly rollingUpdate?: {
        readonly maxSurge?: number | string;
        readonly maxUnavailable?: number | string;
      };
    };
    readonly inPlace?: { readonly maxUnavailable?: number | string };
    readonly autoRepair?: boolean;
  };
  readonly config?: readonly { readonly name?: string }[];
  readonly tuningConfig?: readonly { readonly name?: string }[];
  readonly nodeLabels?: Readonly<Record<string, string>>;
  readonly taints?: readonly object[];
  readonly pausedUntil?: string;
  readonly osImageStream?: { readonly name?: string };
}

export interface NodePoolStatus {
  readonly replicas?: number;
  readonly version?: string;
  readonly conditions?: readonly Condition[];
}

export interface NodePool extends KubeObject {
  readonly metadata?: Metadata;
  readonly spec?: NodePoolSpec;
  readonly status?: NodePoolStatus;
}

export const DEFAULT_ARCHITECTURE = "amd64";
