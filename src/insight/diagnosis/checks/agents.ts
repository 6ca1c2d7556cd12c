/** Agents that cannot reach the server, and agents that do not run, by their logs, pods and events. */
import { cause, type Likelihood } from "../../../base/finding.js";
import { type AgentPodState, bundleCheck, type ConnectFailure, evidence } from "../bundle/bundle.js";
import type { Check } from "../check.js";
import { agentPortOf } from "./server-process.js";

interface Unreachable {
  readonly message: string;
  readonly remedy: string;
  readonly likelihood?: Likelihood;
}

/** `listens` is undefined when the listeners of the host are not known. */
function reachability(
  id: string,
  about: string,
  kind: ConnectFailure,
  judge: (port: number, listens: boolean | undefined) => Unreachable,
): Check {
  return bundleCheck(id, about, (bundle) => {
    const { agentLogs, listeningPorts } = bundle;
    const count = bundle.failing(kind).length;
    if (count === 0) return undefined;
    const port = agentPortOf(bundle);
    const { message, remedy, likelihood = "likely" } = judge(port, listeningPorts?.ports.has(port));
    const lines = [...bundle.failureLines(kind), listeningPorts?.seen ?? []].flat();
    return cause(likelihood, `${count} of ${agentLogs.length} agents ${message}`, remedy, lines);
  });
}

const agentReachability: readonly Check[] = [
  reachability("port-blocked", "Nothing drops the agents' packets", "timeout", (port, listens) => ({
    message: `dial TCP ${port} of the bootstrap host and get no answer${listens ? ", although the server listens there" : ""}: something on the way drops it`,
    remedy: `Let TCP ${port} through from nodes to the bootstrap host: drawbridge firewall plan --platform PLATFORM says how. Agents in the pod network also need their traffic to leave under the node's address (SNAT).`,
  })),
  reachability("port-closed", "The server accepts the agents' connections", "refused", (port, listens) => ({
    likelihood: listens === false ? "possible" : "likely",
    message:
      listens === undefined
        ? `reach the bootstrap host, but nothing takes connections on TCP ${port}`
        : listens
          ? `are refused on TCP ${port}, although the server listens there: a firewall answers in its place, or agents dial another host`
          : `reach the bootstrap host, but nothing listens on TCP ${port}`,
    remedy: listens
      ? `Compare --proxy-server-host of the agents with the host's addresses, and look for a rule that rejects TCP ${port} (nft list ruleset).`
      : "Look at the server first: whether it runs, and with which --agent-port.",
  })),
  reachability("no-route", "Agents have a route to the server", "no-route", () => ({
    message: "have no route to the bootstrap host",
    remedy:
      "Check the address in --proxy-server-host, the nodes' routes (ip route get ADDRESS) and any rule that rejects with unreachable.",
  })),
  reachability("name-unresolved", "Agents can resolve the server's name", "unresolved", () => ({
    message: "cannot resolve the server's name",
    remedy: "Give --proxy-server-host an IP address: at bootstrap there is no DNS to rely on.",
  })),
];

const agentsAdmitted = bundleCheck("agents-forbidden", "The cluster creates the agents' pods", ({ seen }) => {
  const { podsForbidden } = seen;
  if (podsForbidden.count === 0) return undefined;
  const isScc = /security context constraint/i.test(podsForbidden.first ?? "");
  const why = isScc ? "no security context constraint admits them" : "pod security admission forbids them";
  const remedy = isScc
    ? "Give the agents' service account an SCC that allows the host network (drawbridge bootstrap inject --agent-network host writes the RoleBinding to system:openshift:scc:hostnetwork-v2), or use pod-network agents."
    : "Label the agents' namespace pod-security.kubernetes.io/enforce=privileged, as drawbridge bootstrap render --agent-network host does, or use pod-network agents.";
  return cause("certain", `the cluster refuses to create agent pods: ${why}`, remedy, podsForbidden.evidence);
});

const CRASHING = /CrashLoopBackOff|^Error$|RunContainerError|CreateContainer/;
const PULLING = /ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull/;

const isWaiting = ({ waiting }: AgentPodState, pattern: RegExp): boolean =>
  waiting !== undefined && pattern.test(waiting.reason);

function podCause(likelihood: Likelihood, found: readonly AgentPodState[], all: number, what: string, remedy: string) {
  if (found.length === 0) return undefined;
  const why = found.find(({ waiting }) => waiting !== undefined)?.waiting;
  const reason = why === undefined ? "" : ` (${[why.reason, why.message].filter(Boolean).join(": ")})`;
  const seen = found.slice(0, 3).map((pod) => pod.seen);
  return cause(likelihood, `${found.length} of ${all} agent pods ${what}${reason}`, remedy, seen);
}

const agentImages = bundleCheck("agents-image", "The agents' image can be pulled", ({ agentPods }) => {
  const found = agentPods.filter((pod) => isWaiting(pod, PULLING));
  const remedy = "Check the image of the DaemonSet konnectivity-agent and the nodes' pull secret and mirrors.";
  return podCause("certain", found, agentPods.length, "cannot pull their image", remedy);
});

const agentCrashes = bundleCheck(
  "agents-crash-loop",
  "The agents do not end again and again",
  ({ agentPods, agentLogs }) => {
    const found = agentPods.filter((pod) => isWaiting(pod, CRASHING));
    const last = agentLogs.find(({ refusal }) => refusal.last !== undefined)?.refusal.last?.replace(/^\S+ /, "");
    const remedy =
      last === undefined
        ? "Read their logs (oc logs --previous); flags and mounted files are the usual reasons."
        : `Correct what the agent complains about: ${last}`;
    return podCause("certain", found, agentPods.length, "end again and again", remedy);
  },
);

const agentsScheduled = bundleCheck(
  "agents-pending",
  "The agents' pods are scheduled and have a network",
  ({ agentPods, seen }) => {
    const found = agentPods.filter(
      (pod) => pod.phase === "Pending" && !isWaiting(pod, CRASHING) && !isWaiting(pod, PULLING),
    );
    const remedy =
      seen.podsUnschedulable.count > 0 || found.some(({ node }) => node === "")
        ? "Look at the nodes: whether any is registered and Ready, and what kubectl describe pod says under Events."
        : "The pods have a node but no network yet: agents in the pod network start only after the CNI plugin does. Look at the network operator, or use --agent-network host.";
    return podCause("likely", found, agentPods.length, "are pending", remedy);
  },
);

export const agentAvailable = bundleCheck(
  "no-agent",
  "The kube-apiserver gets its tunnels",
  ({ isTakenDown, seen: { agentConnected, noAgentAvailable } }) => {
    // Before the first agent came this is as it must be.
    const isEarly = agentConnected.count > 0 && (noAgentAvailable.lastAt ?? "") < (agentConnected.firstAt ?? "");
    if (noAgentAvailable.count === 0 || isTakenDown || isEarly) return undefined;
    const ever = agentConnected.last === undefined ? "and no agent ever connected" : "while no agent was connected";
    const message = `the kube-apiserver asked the server ${noAgentAvailable.count} times for a tunnel and got "No agent available", ${ever}`;
    const remedy =
      "This follows from the findings above, if there are any; otherwise look why no agent runs: oc get pods -A -l app=konnectivity-agent.";
    const none = evidence("bootstrap/containers/", "no agent connected in the server's log");
    return cause("possible", message, remedy, [...noAgentAvailable.evidence, agentConnected.last ?? none]);
  },
);

export const agentChecks = [agentsAdmitted, agentImages, agentCrashes, agentsScheduled, ...agentReachability];
