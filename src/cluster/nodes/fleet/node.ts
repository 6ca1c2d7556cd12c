/** Nodes, as far as the machines behind them concern us. */
import { change } from "../../kube/change.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import type { Metadata } from "../objects.js";

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

export interface Node extends KubeObject {
  readonly metadata?: Metadata;
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly Taint[];
    readonly providerID?: string;
  };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
}

export const NODES_PATH = "/api/v1/nodes";

export function nodePath(name: string): string {
  return `${NODES_PATH}/${encodeURIComponent(name)}`;
}

export function isReady(node: Node | undefined): boolean {
  return readyCondition(node)?.status === "True";
}

/** In the kubelet's words, or the node controller's; empty when it is. */
export function whyNotReady(node: Node): string {
  const condition = readyCondition(node);
  if (condition?.status === "True") return "";
  if (condition === undefined) return "its kubelet has said nothing yet";
  return [condition.reason, condition.message].filter(Boolean).join(": ") || `Ready is ${condition.status}`;
}

function readyCondition(node: Node | undefined) {
  return node?.status?.conditions?.find(({ type }) => type === "Ready");
}

const ATTEMPTS = 10;

/** Writes what `make` gives, if anything; kubelets and controllers write all the time, so it is made anew when they did. */
export async function changeNode(
  api: KubeApi,
  name: string,
  make: (node: Node) => Node | undefined,
): Promise<Node | undefined> {
  return (await change(api, nodePath(name), ATTEMPTS, make))?.object;
}
