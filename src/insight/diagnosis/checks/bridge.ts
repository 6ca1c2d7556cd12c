/** A bridge as a whole: the server's protocol, the kube-apiserver's flag, an agent on every node. */
import { failed, type Judgement, ok, skipped, warning } from "../../../base/finding.js";
import { defineCheck } from "../check.js";
import type { Facts } from "../facts.js";
import { lookAtAgents } from "../rehearsal/service-call.js";

export const serverProtocol = defineCheck({
  ...{ id: "server-protocol", about: "The server speaks the kube-apiserver's protocol" },
  ...{ needs: ["frontendAnswer"], uses: ["egress"] },
  judge({ frontendAnswer: { failure, mode, where }, egress }) {
    const protocol = mode === "grpc" ? "GRPC" : "HTTPConnect";
    if (failure === undefined) return ok(`${where} speaks ${protocol}`);
    if (failure.isClosed) {
      const remedy = "Start the server, or give its frontend with --uds or --frontend (see the check socket).";
      return failed(`${where} accepts no connection: ${failure.message}`, remedy);
    }
    const isRead = egress?.state === "read";
    const wanted = isRead ? `${egress.path} says ${egress.cluster.protocol}` : `${protocol} is expected`;
    const other = mode === "grpc" ? "http-connect" : "grpc";
    const remedy =
      `Start the server with --mode=${mode} (${wanted}), or change the proxyProtocol there and restart the ` +
      `kube-apiserver; --protocol=${other} makes this check use the other one.`;
    return failed(`${where} does not answer in ${protocol}: ${failure.message}`, remedy);
  },
});

const FLAG = "egress-selector-config-file";

export const apiServerFlag = defineCheck({
  ...{ id: "api-server-flag", about: "The kube-apiserver uses the egress configuration" },
  needs: ["apiServer", "egress", "model"],
  judge({ apiServer: { running, manifest }, egress, model: { paths } }) {
    const known = running ?? manifest;
    const expected = egress.path === paths.egressConfig.host ? paths.egressConfig.apiServer : egress.path;
    if (known === undefined) {
      const message = "no kube-apiserver runs in this host's network and no manifest of it is here";
      return skipped(message, `Run it on the kube-apiserver's host, or look yourself for --${FLAG}=${expected}.`);
    }
    const value = known.flags.get(FLAG);
    const place = manifest?.source ?? "the kube-apiserver's command";
    if (value === expected) return ok(`${known.source} has --${FLAG}=${value}`);
    if (value !== undefined) {
      const remedy = `Set --${FLAG}=${expected} in ${place}, or verify the file it uses with --egress-config=${value}.`;
      return failed(`${known.source} has --${FLAG}=${value}, not ${expected}`, remedy);
    }
    if (running !== undefined && manifest?.flags.has(FLAG)) {
      const message = `${running.source} has no --${FLAG}, although ${place} has it`;
      return failed(message, "Restart the kube-apiserver.");
    }
    const remedy = `Add --${FLAG}=${expected} to ${place} and restart the kube-apiserver.`;
    return failed(`${known.source} has no --${FLAG}`, remedy);
  },
});

/** A bridge whose host is gone leaves its objects to whoever looks. Silent where there are none, and while agents work. */
export const leftovers = defineCheck({
  ...{ id: "leftovers", about: "No bridge whose host is gone has left objects in the cluster" },
  needs: ["bridgeRemains", "now"],
  judge: ({ bridgeRemains, now }) =>
    bridgeRemains.flatMap(({ namespace, isBootstrapOver, until, agents, ready }) => {
      const remedy =
        "Remove them with drawbridge bootstrap teardown --kubeconfig FILE, or with --dir INSTALLDIR; it works without the bootstrap host.";
      const left = `the namespace ${namespace} and what a bridge put there are left in the cluster`;
      if (isBootstrapOver) {
        const evidence = "ConfigMap kube-system/bootstrap: status complete";
        return { ...failed(`${left}, although the bootstrap is complete`, remedy, evidence), subject: namespace };
      }
      if (until !== undefined && until <= now) {
        const message = `${left}, although its certificates ended at ${until.toISOString()}`;
        return { ...failed(message, remedy), subject: namespace };
      }
      if (agents === 0 || ready > 0) return [];
      const message = `none of the ${agents} agents in the namespace ${namespace} has its server: it is down, or its host is gone and they are left over`;
      return { ...warning(message, `If its host is gone: ${remedy}`), subject: namespace };
    }),
});

/** As many as fit, and how many there are besides. */
function some(words: readonly string[], most = 8): string {
  const rest = words.length - most;
  return words.slice(0, most).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

const agentCount = (count: number): string =>
  `${count === 0 ? "no agent is" : count === 1 ? "1 agent is" : `${count} agents are`} connected`;

type Pods = Facts["agentPodsByNode"] | undefined;

const stateOn = (pods: Pods, node: string): string => `${node} (${pods?.get(node)?.state ?? "no agent's pod there"})`;

export const agentsOnNodes = defineCheck({
  ...{ id: "agents", about: "Every node has a connected agent" },
  ...{ needs: ["agentPlace"], uses: ["connectedAgents", "nodes", "agentPodsByNode"] },
  judge({ agentPlace, connectedAgents, nodes, agentPodsByNode: pods }) {
    const look = `Look at the agents (${lookAtAgents(agentPlace.namespace)}, then their logs)`;
    if (connectedAgents === undefined) return judgePods(nodes, pods, `${look}.`);
    const { count, ids } = connectedAgents;
    const remedy = `${look} and let these nodes reach TCP ${agentPlace.dialled} (drawbridge firewall plan).`;
    const names = ids === undefined || ids.length === 0 ? "" : ` (${some(ids)})`;
    const shown = `${agentCount(count)}${names}`;
    if (nodes === undefined) {
      const judgement = count === 0 ? failed(shown, remedy) : ok(`${shown}; not compared with nodes, see kubeconfig`);
      return { ...judgement, details: { agents: count } };
    }
    const without = nodesWithout(nodes, connectedAgents, pods);
    const missing = without.filter(({ isReady }) => isReady).map(({ name }) => stateOn(pods, name));
    // A node without a network has no agent in the pods' network yet, and nothing that could be called.
    const waiting = without.filter(({ isReady }) => !isReady).map(({ name }) => name);
    const idle = waiting.length === 0 ? "" : `; not Ready themselves: ${some(waiting)}`;
    const lacking = missing.length === 0 ? "" : `; without one: ${some(missing)}`;
    const text = `${shown} for ${nodes.length === 1 ? "1 node" : `${nodes.length} nodes`}${lacking}${idle}`;
    const judgement = missing.length > 0 || count === 0 ? failed(text, remedy) : ok(text);
    const details = {
      agents: count,
      agentIds: ids,
      nodes: nodes.length,
      nodesWithout: without.map(({ name }) => name),
    };
    return { ...judgement, details };
  },
});

/** Our manifests make the node's name the agent's id. Where ids are unknown or chosen otherwise, pods have to tell. */
function nodesWithout(nodes: Facts["nodes"], { count, ids }: Facts["connectedAgents"], pods: Pods): Facts["nodes"] {
  if (count === 0) return nodes;
  if (ids !== undefined && nodes.some(({ name }) => ids.includes(name)))
    return nodes.filter(({ name }) => !ids.includes(name));
  return count >= nodes.length ? [] : nodes.filter(({ name }) => pods?.get(name)?.isReady !== true);
}

/** Where the server cannot be asked: an agent's pod is ready only while the agent has its server. */
function judgePods(nodes: Facts["nodes"] | undefined, pods: Pods, remedy: string): Judgement {
  if (nodes === undefined || pods === undefined) return skipped("the cluster cannot be asked, see kubeconfig");
  const ready = nodes.filter(({ isReady }) => isReady).map(({ name }) => name);
  const without = ready.filter((node) => pods.get(node)?.isReady !== true);
  const text = `${ready.length - without.length} agents are ready on ${ready.length} Ready nodes, by their pods`;
  if (without.length === 0 && ready.length > 0) return ok(text);
  const missing = some(without.map((node) => stateOn(pods, node))) || "no node is Ready";
  return { ...failed(`${text}; without one: ${missing}`, remedy), details: { nodesWithout: without } };
}
