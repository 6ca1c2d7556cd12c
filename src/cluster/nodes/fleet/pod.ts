/** Pods, as far as draining and trying out a node concerns us. */
import type { KubeObject } from "../../kube/port.js";
import type { Metadata } from "../objects.js";

export interface Pod extends KubeObject {
  readonly metadata?: Omit<Metadata, "ownerReferences"> & {
    readonly ownerReferences?: readonly {
      readonly kind: string;
      readonly name: string;
      readonly controller?: boolean;
    }[];
  };
  readonly spec?: {
    readonly nodeName?: string;
    readonly volumes?: readonly { readonly name: string; readonly emptyDir?: object | null }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
    readonly containerStatuses?: readonly {
      readonly state?: { readonly waiting?: { readonly reason?: string; readonly message?: string } };
    }[];
  };
}

export function podsPath(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
}

export function podPath({ metadata }: Pod): string {
  return `${podsPath(metadata?.namespace ?? "")}/${encodeURIComponent(metadata?.name ?? "")}`;
}

export function podName({ metadata }: Pod): string {
  return `${metadata?.namespace}/${metadata?.name}`;
}
