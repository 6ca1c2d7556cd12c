/** Is one agent connected from every node? */
import { type Check, CheckFailure, fail, type Outcome, pass } from "../../../../base/check.js";
import { messageOf } from "../../../../base/errors/error.js";
import { httpGet } from "../../../../base/http-get.js";
import type { KubeApi, KubeObject } from "../../../kube/port.js";
import { lookAtAgents } from "../../rehearsal/call.js";
import { agentDoor, type Bridge } from "../bridge.js";
import { type ConnectedAgents, connectedAgents } from "../metrics-page.js";
import { some } from "../plain-text.js";
import { AgentPods } from "./agent-pods.js";
import { type Condition, isTrue } from "./conditions.js";

interface Node extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export function agentsCheck(bridge: Bridge, api: KubeApi | undefined): Check {
  return { id: "agents", title: "Every node has a connected agent", run: (signal) => agents(bridge, api, signal) };
}

async function agents(bridge: Bridge, api: KubeApi | undefined, signal: AbortSignal): Promise<Outcome> {
  const connected = await askServer(bridge, signal);
  const { count, ids } = connected;
  const remedy =
    `Look at the agents (${lookAtAgents(bridge.namespace)}, then their logs) and let these nodes reach TCP ${agentDoor(bridge)} ` +
    "(drawbridge firewall plan).";
  const shown = `${count === 0 ? "no agent is" : count === 1 ? "1 agent is" : `${count} agents are`} connected`;
  const named = ids === undefined || ids.length === 0 ? "" : ` (${some(ids)})`;
  const nodes = api && (await nodesOf(api, signal));
  if (api === undefined || nodes === undefined) {
    if (count === 0) return fail(shown, remedy, { agents: 0 });
    return pass(`${shown}${named}; not compared with nodes, see cluster-api`, { agents: count });
  }
  const pods = await AgentPods.list(api, bridge.namespace, signal);
  const without = nodesWithout(nodes, connected, pods).map((node) => ({ name: nameOf(node), ready: isReady(node) }));
  const missing = without.filter(({ ready }) => ready).map(({ name }) => `${name} (${pods.stateOn(name)})`);
  // A node without a network has no agent in the pods' network yet, and nothing that could be called.
  const waiting = without.filter(({ ready }) => !ready).map(({ name }) => name);
  const idle = waiting.length === 0 ? "" : `; not Ready themselves: ${some(waiting)}`;
  const details = { agents: count, agentIds: ids, nodes: nodes.length, nodesWithout: without.map(({ name }) => name) };
  const text = `${shown}${named} for ${nodes.length === 1 ? "1 node" : `${nodes.length} nodes`}`;
  if (missing.length > 0) return fail(`${text}; without one: ${some(missing)}${idle}`, remedy, details);
  return count === 0 ? fail(`${text}${idle}`, remedy, details) : pass(`${text}${idle}`, details);
}

/** Without the server: an agent's pod is ready only while the agent has its server. */
export function agentPodsCheck(bridge: Bridge, api: KubeApi): Check {
  return { id: "agents", title: "Every node has a connected agent", run: (signal) => byPods(bridge, api, signal) };
}

async function byPods(bridge: Bridge, api: KubeApi, signal: AbortSignal): Promise<Outcome> {
  const nodes = (await api.list<Node>("/api/v1/nodes", { signal })).items.filter(isReady).map(nameOf);
  const pods = await AgentPods.list(api, bridge.namespace, signal);
  const without = nodes.filter((node) => !pods.isReadyOn(node));
  const text = `${nodes.length - without.length} agents are ready on ${nodes.length} Ready nodes, by their pods`;
  const remedy = `Look at the agents (${lookAtAgents(bridge.namespace)}, then their logs).`;
  if (without.length === 0 && nodes.length > 0) return pass(text);
  const missing = without.map((node) => `${node} (${pods.stateOn(node)})`);
  return fail(`${text}; without one: ${some(missing) || "no node is Ready"}`, remedy, { nodesWithout: without });
}

async function askServer({ health }: Bridge, signal: AbortSignal): Promise<ConnectedAgents> {
  const url = `${health}/metrics`;
  const remedy = "Start the server, or give its health port with --health.";
  const { status, body } = await httpGet(url, { signal }).catch((reason) => {
    throw new CheckFailure(`${url} does not answer: ${messageOf(reason)}`, remedy);
  });
  const connected = status === 200 ? connectedAgents(body) : undefined;
  if (connected === undefined) throw new CheckFailure(`${url} is no proxy-server's (status ${status})`, remedy);
  return connected;
}

async function nodesOf(api: KubeApi, signal: AbortSignal): Promise<readonly Node[] | undefined> {
  try {
    return (await api.list<Node>("/api/v1/nodes", { signal })).items;
  } catch {
    // The check cluster-api says what is wrong with it.
    return undefined;
  }
}

const nameOf = ({ metadata }: KubeObject): string => metadata?.name ?? "";
const isReady = ({ status }: Node): boolean => isTrue(status?.conditions, "Ready");

/** Our manifests make the node's name the agent's id. Where ids are not told or chosen otherwise, pods have to tell. */
function nodesWithout(nodes: readonly Node[], { count, ids }: ConnectedAgents, pods: AgentPods): readonly Node[] {
  if (count === 0) return nodes;
  if (ids !== undefined && nodes.some((node) => ids.includes(nameOf(node)))) {
    return nodes.filter((node) => !ids.includes(nameOf(node)));
  }
  return count >= nodes.length ? [] : nodes.filter((node) => !pods.isReadyOn(nameOf(node)));
}
