/** Agents that cannot reach the server, and agents that do not run. */
import { evidence } from "../evidence.js";
import type { AgentLog, ConnectFailure, Facts, PodState } from "../facts/facts.js";
import type { Finding, Likelihood } from "../finding.js";
import { agentPort } from "./server.js";
import { isTakenDown } from "./stages.js";

/** Agents whose last word is that they failed for this reason. */
export function failing(facts: Facts, kind: ConnectFailure): AgentLog[] {
  return isTakenDown(facts) ? [] : facts.agents.filter(({ failure }) => failure?.kind === kind);
}

export function reachability(facts: Facts): Finding[] {
  return [blocked(facts), closed(facts), noRoute(facts), unresolved(facts)].flat();
}

function blocked(facts: Facts): Finding[] {
  const port = agentPort(facts);
  const listens = facts.listeners?.ports.has(port);
  return unreachable(facts, "timeout", {
    id: "port-blocked",
    likelihood: "likely",
    message: `dial TCP ${port} of the bootstrap host and get no answer${listens ? ", although the server listens there" : ""}: something on the way drops it`,
    remedy: `Let TCP ${port} through from nodes to the bootstrap host: drawbridge firewall plan --platform PLATFORM says how. Agents in the pod network also need their traffic to leave under the node's address (SNAT).`,
  });
}

function closed(facts: Facts): Finding[] {
  const port = agentPort(facts);
  const { listeners } = facts;
  const listens = listeners?.ports.has(port);
  const message =
    listens === undefined
      ? `reach the bootstrap host, but nothing takes connections on TCP ${port}`
      : listens
        ? `are refused on TCP ${port}, although the server listens there: a firewall answers in its place, or agents dial another host`
        : `reach the bootstrap host, but nothing listens on TCP ${port}`;
  return unreachable(facts, "refused", {
    id: "port-closed",
    likelihood: listens === false ? "possible" : "likely",
    message,
    remedy: listens
      ? `Compare --proxy-server-host of the agents with the host's addresses, and look for a rule that rejects TCP ${port} (nft list ruleset).`
      : "Look at the server first: whether it runs, and with which --agent-port.",
  });
}

function noRoute(facts: Facts): Finding[] {
  return unreachable(facts, "no-route", {
    id: "no-route",
    likelihood: "likely",
    message: "have no route to the bootstrap host",
    remedy:
      "Check the address in --proxy-server-host, the nodes' routes (ip route get ADDRESS) and any rule that rejects with unreachable.",
  });
}

function unresolved(facts: Facts): Finding[] {
  return unreachable(facts, "unresolved", {
    id: "name-unresolved",
    likelihood: "likely",
    message: "cannot resolve the server's name",
    remedy: "Give --proxy-server-host an IP address: at bootstrap there is no DNS to rely on.",
  });
}

type Told = Omit<Finding, "evidence">;

function unreachable(facts: Facts, kind: ConnectFailure, told: Told): Finding[] {
  const found = failing(facts, kind);
  if (found.length === 0) return [];
  const who = `${found.length} of ${facts.agents.length} agents`;
  return [
    {
      ...told,
      message: `${who} ${told.message}`,
      evidence: [
        ...found.slice(0, 3).flatMap(({ failure }) => failure!.seen.evidence.slice(-1)),
        ...(facts.listeners === undefined ? [] : [facts.listeners.seen]),
      ],
    },
  ];
}

/** Whether agents exist and run; nothing about the network. */
export function pods(facts: Facts): Finding[] {
  return [forbidden(facts), waiting(facts)].flat();
}

function forbidden({ forbidden: events }: Facts): Finding[] {
  if (events.count === 0) return [];
  const scc = /security context constraint/i.test(events.first?.text ?? "");
  return [
    {
      id: "agents-forbidden",
      likelihood: "certain",
      message: `the cluster refuses to create agent pods: ${scc ? "no security context constraint admits them" : "pod security admission forbids them"}`,
      evidence: events.evidence,
      remedy: scc
        ? "Give the agents' service account an SCC that allows the host network (drawbridge bootstrap inject --agent-network host writes the RoleBinding to system:openshift:scc:hostnetwork-v2), or use pod-network agents."
        : "Label the agents' namespace pod-security.kubernetes.io/enforce=privileged, as drawbridge bootstrap render --agent-network host does, or use pod-network agents.",
    },
  ];
}

const CRASHING = /CrashLoopBackOff|^Error$|RunContainerError|CreateContainer/;
const PULLING = /ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull/;

function waiting(facts: Facts): Finding[] {
  const agents = facts.pods.filter(({ role }) => role === "agent");
  const because = (pattern: RegExp) =>
    agents.filter(({ waiting: why }) => why !== undefined && pattern.test(why.reason));
  const pending = agents.filter(
    ({ phase, waiting: why }) =>
      phase === "Pending" && !(why && (CRASHING.test(why.reason) || PULLING.test(why.reason))),
  );
  return [
    ...about(
      because(PULLING),
      agents,
      "agents-image",
      "certain",
      "cannot pull their image",
      () => "Check the image of the DaemonSet konnectivity-agent and the nodes' pull secret and mirrors.",
    ),
    ...about(
      because(CRASHING),
      agents,
      "agents-crash-loop",
      "certain",
      "end again and again",
      () => lastWords(facts) ?? "Read their logs (oc logs --previous); flags and mounted files are the usual reasons.",
    ),
    ...about(pending, agents, "agents-pending", "likely", "are pending", (found) =>
      facts.unschedulable.count > 0 || found.some(({ node }) => node === "")
        ? "Look at the nodes: whether any is registered and Ready, and what kubectl describe pod says under Events."
        : "The pods have a node but no network yet: agents in the pod network start only after the CNI plugin does. Look at the network operator, or use --agent-network host.",
    ),
  ];
}

function about(
  found: readonly PodState[],
  agents: readonly PodState[],
  id: Finding["id"],
  likelihood: Likelihood,
  what: string,
  remedy: (found: readonly PodState[]) => string,
): Finding[] {
  if (found.length === 0) return [];
  const why = found.find(({ waiting: reason }) => reason !== undefined)?.waiting;
  const reason = why === undefined ? "" : ` (${[why.reason, why.message].filter(Boolean).join(": ")})`;
  const message = `${found.length} of ${agents.length} agent pods ${what}${reason}`;
  return [{ id, likelihood, message, evidence: found.slice(0, 3).map(({ seen }) => seen), remedy: remedy(found) }];
}

function lastWords({ agents }: Facts): string | undefined {
  const words = agents.find(({ refusal }) => refusal.last !== undefined)?.refusal.last;
  return words && `Correct what the agent complains about: ${words.text}`;
}

export function noAgentPods(facts: Facts): Finding[] {
  const { noAgent, lastNoAgentAt } = facts.apiServer;
  const { firstAgentAt, agentConnected } = facts.server;
  if (noAgent.count === 0 || isTakenDown(facts)) return [];
  // Before the first agent came this is as it must be.
  const early = agentConnected.count > 0 && (lastNoAgentAt ?? "") < (firstAgentAt ?? "");
  if (early) return [];
  const ever = agentConnected.count > 0 ? "while no agent was connected" : "and no agent ever connected";
  return [
    {
      id: "no-agent",
      likelihood: "possible",
      message: `the kube-apiserver asked the server ${noAgent.count} times for a tunnel and got "No agent available", ${ever}`,
      evidence: [
        ...noAgent.evidence,
        ...(agentConnected.count > 0
          ? agentConnected.evidence.slice(-1)
          : [evidence("bootstrap/containers/", "no agent connected in the server's log")]),
      ],
      remedy:
        "This follows from the findings above, if there are any; otherwise look why no agent runs: oc get pods -A -l app=konnectivity-agent.",
    },
  ];
}
