/** Agents and their certificates in the cluster. */
import { DrawbridgeError, reasonOf } from "../../../../base/errors/error.js";
import { applyObject, type KubeManifest } from "../../../kube/apply.js";
import { isTransient } from "../../../kube/errors.js";
import { find } from "../../../kube/objects.js";
import { collectionPath, namedPath, objectPath } from "../../../kube/paths.js";
import { isReady, type Pod } from "../../../kube/pods.js";
import type { KubeApi } from "../../../kube/port.js";
import { clusterObjects } from "../../model/created.js";
import type { BridgeModel } from "../../model/model.js";
import { AGENT_NAME, BOOTSTRAP_ONLY_SELECTOR } from "../../model/names.js";
import { agentDaemonSet, agentNamespace, agentSecret } from "../../render/objects.js";
import { waitFor } from "../host.js";
import { type BridgeStep, lackAfter, type Site, type StepState } from "../step.js";
import { readAgentCertificates } from "./host.js";
import { healthUrl } from "./server.js";

const FIELD_MANAGER = "drawbridge-bootstrap";

export function agentsStep(site: Site): BridgeStep {
  const { host, model, api, timeoutMs } = site;
  const wanted = async (): Promise<KubeManifest[]> => {
    const certificates = await readAgentCertificates(host.files.real(model.paths.pki.host));
    return [agentNamespace(model), agentSecret(model, certificates), agentDaemonSet(model)];
  };
  return {
    name: "agents",
    title: "Agents in the cluster",
    makes: async () => clusterObjects(model),
    async check() {
      try {
        return await checkObjects(await api.cluster(), await wanted());
      } catch (reason) {
        return { state: "missing", detail: reasonOf(reason) };
      }
    },
    async do() {
      const kube = await api.cluster();
      // An earlier teardown does not wait for it.
      if (!(await waitFor(host, host.now() + timeoutMs, () => isFree(kube, model.namespace), 500))) {
        const sentence = `The namespace ${model.namespace} of an earlier bridge is still being removed.`;
        throw new DrawbridgeError("DB_BRIDGE_EXISTS", sentence);
      }
      for (const object of await wanted()) await put(site, kube, object);
    },
  };
}

async function checkObjects(kube: KubeApi, wanted: readonly KubeManifest[]): Promise<StepState> {
  for (const object of wanted) {
    const { kind } = object;
    const { name } = object.metadata;
    const live = await find(kube, objectPath(object), { timeoutMs: 10_000 });
    if (live === undefined) return { state: "missing", detail: `the ${kind} ${name} is not there` };
    if (live.metadata?.deletionTimestamp) return { state: "missing", detail: `the ${kind} ${name} is being removed` };
    if (!includes(live, object)) return { state: "wrong", detail: `the ${kind} ${name} is not as it should be` };
  }
  const place = wanted[0]?.metadata.name;
  return { state: "done", detail: `${wanted.map(({ kind }) => kind).join(", ")} in ${place}` };
}

/** A fresh namespace has no service account for a moment, and a busy API server refuses now and then. */
async function put({ host, timeoutMs }: Site, kube: KubeApi, object: KubeManifest): Promise<void> {
  let last: unknown;
  const isPut = async (): Promise<boolean> => {
    try {
      await applyObject(kube, object, { fieldManager: FIELD_MANAGER, force: true });
      return true;
    } catch (reason) {
      last = reason;
      if (!isTransient(reason)) throw reason;
      return false;
    }
  };
  if (!(await waitFor(host, host.now() + timeoutMs, isPut, 1_000))) throw last;
}

/**
 * False while an earlier one is being removed. Teardown removes the namespace with all that is in it, so it must be one
 * that nobody else uses. Throws DB_BRIDGE_EXISTS.
 */
async function isFree(kube: KubeApi, name: string): Promise<boolean> {
  const live = await find(kube, namedPath("Namespace", { name }), { timeoutMs: 10_000 }).catch((reason: unknown) => {
    if (isTransient(reason)) return undefined;
    throw reason;
  });
  const [label = "", value] = BOOTSTRAP_ONLY_SELECTOR.split("=");
  if (live !== undefined && live.metadata?.labels?.[label] !== value) {
    const sentence = `The namespace ${name} exists and does not carry the label ${BOOTSTRAP_ONLY_SELECTOR}.`;
    throw new DrawbridgeError("DB_BRIDGE_EXISTS", sentence);
  }
  return live?.metadata?.deletionTimestamp === undefined;
}

/** Whether the agent of a node is connected. */
export interface NodeConnection {
  readonly node: string;
  /** A node without a network cannot run an agent in the pod network. */
  readonly isReady: boolean;
  /** An agent is ready exactly when it is connected. */
  readonly isConnected: boolean;
}

export function connectedStep(site: Site): BridgeStep {
  const check = (): Promise<StepState> => checkConnections(site);
  return {
    name: "connected",
    title: "Agents are connected",
    makes: async () => [],
    check,
    async do() {
      const lack = await lackAfter(site, check);
      if (lack === undefined) return;
      const sentence = `Not every agent is connected after ${site.timeoutMs / 1000} s: ${lack}.`;
      throw new DrawbridgeError("DB_AGENTS_WAIT", sentence);
    },
  };
}

async function checkConnections({ host, model, api }: Site): Promise<StepState> {
  let nodes: readonly NodeConnection[];
  try {
    nodes = await nodeConnections(await api.cluster(), model);
  } catch (reason) {
    return { state: "missing", detail: reasonOf(reason) };
  }
  const needed = nodes.filter(({ isReady }) => isReady);
  const missing = needed.filter(({ isConnected }) => !isConnected);
  const connected = nodes.filter(({ isConnected }) => isConnected);
  if (missing.length > 0) {
    const names = missing.map(({ node }) => node).join(", ");
    return { state: "missing", detail: `${connected.length} of ${needed.length} ready nodes, without ${names}` };
  }
  if (connected.length === 0) return { state: "done", detail: "no node is ready for an agent yet", isEarly: true };
  const answer = await host.ask(healthUrl(model, "/readyz"));
  if (answer?.status !== 200) return { state: "missing", detail: "the server knows of no agent yet" };
  return {
    state: "done",
    detail: `${connected.length} of ${nodes.length} nodes: ${connected.map((n) => n.node).join(", ")}`,
  };
}

export async function nodeConnections(kube: KubeApi, { namespace }: BridgeModel): Promise<NodeConnection[]> {
  const [nodes, pods] = await Promise.all([
    kube.list(collectionPath("Node"), { timeoutMs: 10_000 }),
    kube.list<Pod>(collectionPath("Pod", namespace), {
      labelSelector: `app=${AGENT_NAME}`,
      timeoutMs: 10_000,
    }),
  ]);
  const connected = new Set(
    pods.items.filter((pod) => isReady(pod) && !pod.metadata?.deletionTimestamp).map(({ spec }) => spec?.nodeName),
  );
  return nodes.items.map((node) => {
    const name = node.metadata?.name ?? "";
    return { node: name, isReady: isReady(node), isConnected: connected.has(name) };
  });
}

/** Whether an object has everything that is wanted, whatever else an API server has added to it. */
export function includes(live: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return Array.isArray(live) && live.length === wanted.length && wanted.every((item, i) => includes(live[i], item));
  }
  if (typeof wanted === "object" && wanted !== null) {
    if (typeof live !== "object" || live === null) return false;
    return Object.entries(wanted).every(([key, value]) => includes((live as Record<string, unknown>)[key], value));
  }
  return live === wanted;
}
