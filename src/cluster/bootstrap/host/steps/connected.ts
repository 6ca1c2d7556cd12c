/** Agents that are connected, node by node. */

import { DrawbridgeError, messageOf } from "../../../../base/errors/error.js";
import { collectionPath } from "../../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../../kube/port.js";
import type { BridgeModel } from "../../model/model.js";
import { AGENT_NAME } from "../../model/names.js";
import { waitFor } from "../host.js";
import type { Site } from "../site.js";
import type { Step, StepState } from "../step.js";
import { healthUrl } from "./server.js";

export interface NodeConnection {
  readonly node: string;
  /** A node without a network cannot run an agent in the pod network. */
  readonly isReady: boolean;
  /** An agent is ready exactly when it is connected. */
  readonly isConnected: boolean;
}

interface Conditioned extends KubeObject {
  readonly metadata?: KubeObject["metadata"] & { readonly name?: string; readonly deletionTimestamp?: string };
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

export function connectedStep(site: Site): Step {
  const { host, timeoutMs } = site;
  const check = (): Promise<StepState> => checkConnections(site);
  return {
    name: "connected",
    title: "Agents are connected",
    makes: async () => [],
    check,
    async do() {
      const isSo = async () => (await check()).state === "done";
      if (await waitFor(host, host.now() + timeoutMs, isSo, 500)) return;
      const { detail } = await check();
      throw new DrawbridgeError(
        "DB_AGENTS_WAIT",
        `Not every agent is connected after ${timeoutMs / 1000} s: ${detail}.`,
      );
    },
  };
}

async function checkConnections({ host, model, api }: Site): Promise<StepState> {
  let nodes: readonly NodeConnection[];
  try {
    nodes = await nodeConnections(await api.cluster(), model);
  } catch (reason) {
    return { state: "missing", detail: messageOf(reason).replace(/\.$/, "") };
  }
  const needed = nodes.filter(({ isReady }) => isReady);
  const missing = needed.filter(({ isConnected }) => !isConnected);
  const connected = nodes.filter(({ isConnected }) => isConnected);
  if (missing.length > 0) {
    const names = missing.map(({ node }) => node).join(", ");
    return { state: "missing", detail: `${connected.length} of ${needed.length} ready nodes, without ${names}` };
  }
  if (connected.length === 0) return { state: "done", detail: "no node is ready for an agent yet" };
  const answer = await host.ask(healthUrl(model, "/readyz"));
  if (answer?.status !== 200) return { state: "missing", detail: "the server knows of no agent yet" };
  return {
    state: "done",
    detail: `${connected.length} of ${nodes.length} nodes: ${connected.map((n) => n.node).join(", ")}`,
  };
}

export async function nodeConnections(kube: KubeApi, { namespace }: BridgeModel): Promise<NodeConnection[]> {
  const [nodes, pods] = await Promise.all([
    kube.list<Conditioned>(collectionPath("Node"), { timeoutMs: 10_000 }),
    kube.list<Conditioned>(collectionPath("Pod", namespace), {
      labelSelector: `app=${AGENT_NAME}`,
      timeoutMs: 10_000,
    }),
  ]);
  const connected = new Set(
    pods.items.filter((pod) => isTrue(pod) && !pod.metadata?.deletionTimestamp).map(({ spec }) => spec?.nodeName),
  );
  return nodes.items.map((node) => {
    const name = node.metadata?.name ?? "";
    return { node: name, isReady: isTrue(node), isConnected: connected.has(name) };
  });
}

function isTrue({ status }: Conditioned): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ?? false;
}
