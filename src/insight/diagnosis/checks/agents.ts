/** Agents that cannot connect to the server, and agents that do not run, by their logs, pods, events and certificates. */
import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { basename } from "node:path";
import { cause, type Likelihood } from "../../../base/finding.js";
import { chainOf, isFor } from "../../../tunnel/pki/pem.js";
import { type AgentPodState, type Bundle, bundleCheck, type ConnectFailure, evidence } from "../bundle/bundle.js";
import type { Check } from "../check.js";
import { agentPortOf } from "./bootstrap-host.js";

interface ConnectProblem {
  readonly message: string;
  readonly remedy: string;
  /** "likely" by default. */
  readonly likelihood?: Likelihood;
  /** Evidence that shows the problem without any agent's log. */
  readonly stored?: readonly string[];
  /** Evidence that helps to understand the agents' logs. */
  readonly also?: readonly string[];
}

/** A check of the reason for which agents failed to connect last. */
function connects(
  id: string,
  about: string,
  kind: ConnectFailure,
  explain: (bundle: Bundle, port: number) => ConnectProblem,
): Check {
  return bundleCheck(id, about, (bundle) => {
    const lines = bundle.failureLines(kind);
    const { message, remedy, likelihood = "likely", stored = [], also = [] } = explain(bundle, agentPortOf(bundle));
    if (lines.length + stored.length === 0) return undefined;
    const seen = [...lines, ...stored, ...also];
    if (stored.length === 0 && bundle.mayBeConnected) {
      return cause("possible", message, remedy, [...seen, bundle.backends!.seen]);
    }
    return cause(lines.length > 0 ? likelihood : "likely", message, remedy, seen);
  });
}

/** The same, of agents that do not get as far as a certificate. `listens` is undefined when that is not known. */
function reaches(
  id: string,
  about: string,
  kind: ConnectFailure,
  explain: (port: number, listens: boolean | undefined, line: string) => ConnectProblem,
): Check {
  return connects(id, about, kind, (bundle, port) => {
    const { agentLogs, listeningPorts, servers } = bundle;
    const failing = bundle.failing(kind);
    const count = `${failing.length} of ${agentLogs.length} agents`;
    const also = listeningPorts === undefined ? [] : [listeningPorts.seen];
    const line = failing[0]?.failure?.seen.last ?? "";
    const dialled = dialledIn(line);
    if (dialled !== undefined && servers.length > 0 && dialled.port !== port) {
      const seen = servers.map((server) => server.seen);
      return {
        ...wrongPort(dialled.text, port),
        message: `${count} ${wrongPort(dialled.text, port).message}`,
        also: seen,
      };
    }
    const found = dialled?.port ?? port;
    const { message, ...problem } = explain(found, listeningPorts?.ports.has(found), line);
    return { ...problem, message: `${count} ${message}`, also };
  });
}

/** The address of an agent's complaint, as Go and Node write it: `dial tcp 10.0.0.5:8091: ...`, `10.0.0.5:8091`. */
function dialledIn(line: string): { readonly text: string; readonly port: number } | undefined {
  const [, text, port] =
    /dial tcp (\S+:(\d+)): /.exec(line) ??
    /connect E[A-Z]+ (\S+:(\d+))/.exec(line) ??
    /cannot connect to (\S+:(\d+)): /.exec(line) ??
    [];
  return text === undefined ? undefined : { text, port: Number(port) };
}

const wrongPort = (dialled: string, port: number) => ({
  likelihood: "certain" as const,
  message: `dial ${dialled}, where no server of the bridge is: the server listens for them on TCP ${port}`,
  remedy: `Give the agents --proxy-server-port=${port}; where they have the right flags, a proxy variable in their environment sends them elsewhere (HTTPS_PROXY without the server's address in NO_PROXY).`,
});

/** `lookup NAME on RESOLVER: WHY`, as Go and Node write it. */
function lookupIn(line: string): string {
  const [, name, resolver, why] = /\blookup (\S+?)(?: on (\S+?))?: ([^"\\]*)/.exec(line) ?? [];
  const [, code, other] = /getaddrinfo (E\w+) (\S+)/.exec(line) ?? [];
  if (other !== undefined) return `, ${other.replace(/["\\]+$/, "")} (${code})`;
  return name === undefined
    ? ""
    : `, ${name}${resolver === undefined ? "" : `, at the resolver ${resolver}`} (${why!.trim()})`;
}

const agentReachability: readonly Check[] = [
  reaches("name-unresolved", "Agents can resolve the server's name", "unresolved", (_port, _listens, line) => ({
    likelihood: "certain",
    message: `cannot resolve the server's name by DNS${lookupIn(line)}`,
    remedy:
      "Give --proxy-server-host an IP address, or put DNS in order: /etc/resolv.conf of the agents' nodes or pods, whether that resolver answers them (dig NAME @RESOLVER), and the record itself.",
  })),
  reaches("proxied", "Agents connect to the server and not to a proxy", "proxied", () => ({
    likelihood: "certain",
    message: "are sent to an HTTP proxy, which does not let them through to the server",
    remedy:
      "Take HTTPS_PROXY and HTTP_PROXY out of the agents' environment, or add the server's address to NO_PROXY: the tunnel needs no proxy.",
  })),
  reaches("no-handshake", "The server answers the agents' TLS handshakes", "handshake", (port) => ({
    message: `are connected to TCP ${port}, but nothing there completes the TLS handshake: something other than the server answers, or large packets are lost on the way`,
    remedy: `See who answers (openssl s_client -connect HOST:${port} on a node, ss -ltnp on the bootstrap host): a load balancer, a proxy or another program; then the path's MTU (ping -M do -s 1472 HOST).`,
  })),
  reaches("port-blocked", "Nothing drops the agents' packets", "timeout", (port, listens) => ({
    message: `dial TCP ${port} of the bootstrap host and get no answer${listens ? ", although the server listens there" : ""}: something on the way drops it`,
    remedy: `Let TCP ${port} through from nodes to the bootstrap host: drawbridge firewall plan --platform PLATFORM says how. Agents in the pod network also need their traffic to leave under the node's address (SNAT).`,
  })),
  reaches("port-closed", "The server accepts the agents' connections", "refused", (port, listens) => ({
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
  reaches("no-route", "Agents have a route to the server", "no-route", () => ({
    message: "have no route to the bootstrap host",
    remedy:
      "Check the address in --proxy-server-host, the nodes' routes (ip route get ADDRESS) and any rule that rejects with unreachable.",
  })),
];

const REISSUE =
  "Make new certificates (drawbridge pki init --replace --dir DIR, or remove konnectivity-certs.done and run bootkube again) and give them to server and agents together.";

const certificateTrust: readonly Check[] = [
  connects("certificate-san", "Agents accept the names of the server's certificate", "san", (bundle) => {
    const [dialled] = dialledHosts(bundle);
    return {
      likelihood: "certain",
      message: `agents refuse the server's certificate because it is not for the address they dial${dialled === undefined ? "" : `, ${dialled.host}`}`,
      remedy:
        "Make the server's certificate for that address (drawbridge pki init --replace --dir DIR --ip ADDRESS), or let agents dial one that it has (--proxy-server-host).",
      also: namesOf(ofServer(bundle)),
    };
  }),
  connects("certificate-expired", "No certificate of the bridge has expired", "expired", (bundle) => ({
    likelihood: "certain",
    message: "a certificate of the bridge has expired",
    remedy: `${REISSUE} If the certificate should still be valid, the node's clock is ahead: set it (chronyc makestep).`,
    stored: bundle.certificates
      .filter(({ certificate }) => Date.parse(certificate.validTo) < (bundle.gatheredAt?.getTime() ?? 0))
      .map(({ file, certificate }) => evidence(file, `ended ${certificate.validTo}`)),
  })),
  connects(
    "certificate-not-yet-valid",
    "Every certificate of the bridge is valid already",
    "not-yet-valid",
    (bundle) => ({
      likelihood: "certain",
      message:
        "a certificate of the bridge is not valid yet: clocks disagree between the host that made it and the nodes",
      remedy:
        "Set the clocks (chronyc makestep on nodes and bootstrap host); agents connect by themselves once the certificate's time has come.",
      stored: bundle.certificates
        .filter(({ certificate }) => Date.parse(certificate.validFrom) > (bundle.gatheredAt?.getTime() ?? Infinity))
        .map(({ file, certificate }) => evidence(file, `starts ${certificate.validFrom}`)),
    }),
  ),
  connects(
    "certificate-authority",
    "Server and agents have certificates of one authority",
    "unknown-authority",
    (bundle) => ({
      likelihood: "certain",
      message: "the server's and the agents' certificates do not come from the same authority",
      remedy: REISSUE,
      stored: unsigned(bundle.certificates),
    }),
  ),
  connects("agent-refused", "The server accepts the agents' certificates", "rejected", () => ({
    message:
      "the server closes connections of agents as soon as they have shown their certificate: it does not accept it",
    remedy:
      "The agents' Secret must hold a certificate signed by the server's --cluster-ca-cert and still valid; compare them with drawbridge pki inspect. A TLS-inspecting proxy between them has the same effect.",
  })),
];

type CertificateFile = Bundle["certificates"][number];

const namesOf = (files: readonly CertificateFile[]): string[] =>
  files.map(({ file, certificate }) => evidence(file, `for ${certificate.subjectAltName ?? "no address"}`));

const ofServer = ({ certificates }: Bundle): CertificateFile[] =>
  certificates.filter(({ file }) => basename(file) === "server.crt");

const dialledHosts = ({ agents }: Bundle): { readonly host: string; readonly seen: string }[] =>
  agents.flatMap(({ flags, seen }) => {
    const host = flags.get("proxy-server-host")?.replace(/^\[|\]$/g, "");
    return host === undefined ? [] : [{ host, seen }];
  });

/** Certificates that the ca.crt in the same bundle did not sign. */
function unsigned(found: readonly CertificateFile[]): string[] {
  const authorities = found.filter(({ file }) => basename(file) === "ca.crt").map(({ certificate }) => certificate);
  if (authorities.length === 0) return [];
  const isSigned = (certificate: X509Certificate) => chainOf(certificate, authorities).state === "verified";
  return found
    .filter(({ file, certificate }) => basename(file) !== "ca.crt" && !isSigned(certificate))
    .map(({ file, certificate }) =>
      evidence(file, `not signed by the ca.crt beside it; issuer ${certificate.issuer.split("\n").join(", ")}`),
    );
}

const addressCertified = bundleCheck(
  "address-mismatch",
  "The server's certificate is for the address that agents dial",
  (bundle) => {
    const servers = ofServer(bundle);
    const isCertified = (host: string) => servers.some(({ certificate }) => isFor(certificate, host));
    const likelihood = bundle.failing("san").length > 0 ? "certain" : "likely";
    const remedy =
      "The address of the host changed after the certificates were made, or the manifests come from another host: make both again for one address.";
    return dialledHosts(bundle)
      .filter(({ host }) => servers.length > 0 && !isCertified(host))
      .map(({ host, seen }) => {
        const message = `agents are told to dial ${host}, but the server's certificate is not for it`;
        return cause(likelihood, message, remedy, [seen, ...namesOf(servers), bundle.hostAddresses?.seen ?? []].flat());
      });
  },
);

const addressOnHost = bundleCheck("address-not-on-host", "Agents dial an address of the bootstrap host", (bundle) => {
  const { hostAddresses } = bundle;
  if (hostAddresses === undefined) return undefined;
  const isSilent = (["timeout", "refused", "no-route"] as const).some((kind) => bundle.failing(kind).length > 0);
  return dialledHosts(bundle)
    .filter(({ host }) => isIP(host) !== 0 && !hostAddresses.all.has(host.toLowerCase()))
    .map(({ host, seen }) => {
      const message = `agents are told to dial ${host}, which is on no interface of the bootstrap host`;
      const remedy = `Unless something forwards ${host} to the host, give agents one of its own addresses: drawbridge bootstrap inject --bootstrap-ip ADDRESS, or --proxy-server-host of the DaemonSet.`;
      return cause(isSilent ? "likely" : "possible", message, remedy, [seen, hostAddresses.seen]);
    });
});

const agentsAdmitted = bundleCheck("agents-forbidden", "The cluster creates the agents' pods", (bundle) => {
  const { podsForbidden } = bundle.seen;
  // Events stay for hours; a pod that is there shows that they are history.
  if (podsForbidden.count === 0 || bundle.agentPods.length > 0) return undefined;
  const isScc = /security context constraint/i.test(podsForbidden.first ?? "");
  const why = isScc ? "no security context constraint admits them" : "pod security admission forbids them";
  const remedy = isScc
    ? "Give the agents' service account an SCC that allows the host network (drawbridge bootstrap inject --agent-network host writes the RoleBinding to system:openshift:scc:hostnetwork-v2), or use pod-network agents."
    : "Label the agents' namespace pod-security.kubernetes.io/enforce=privileged, as drawbridge bootstrap render --agent-network host does, or use pod-network agents.";
  return cause("certain", `the cluster refuses to create agent pods: ${why}`, remedy, podsForbidden.evidence);
});

/** Why an agent's pod does not run; undefined when it does. */
function podProblem({ phase, waiting }: AgentPodState): "image" | "crash" | "pending" | undefined {
  const reason = waiting?.reason ?? "";
  if (/ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull/.test(reason)) return "image";
  if (/CrashLoopBackOff|^Error$|RunContainerError|CreateContainer/.test(reason)) return "crash";
  return phase === "Pending" ? "pending" : undefined;
}

interface PodProblem {
  readonly id: string;
  readonly about: string;
  readonly problem: ReturnType<typeof podProblem>;
  readonly what: string;
  remedy(bundle: Bundle, found: readonly AgentPodState[]): string;
}

const podProblems: readonly PodProblem[] = [
  {
    ...{ id: "agents-image", about: "The agents' image can be pulled" },
    ...{ problem: "image", what: "cannot pull their image" },
    remedy: () => "Check the image of the DaemonSet konnectivity-agent and the nodes' pull secret and mirrors.",
  },
  {
    ...{ id: "agents-crash-loop", about: "The agents do not end again and again" },
    ...{ problem: "crash", what: "end again and again" },
    remedy({ agentLogs }) {
      const last = agentLogs.find(({ refusal }) => refusal.last !== undefined)?.refusal.last?.replace(/^\S+ /, "");
      return last === undefined
        ? "Read their logs (oc logs --previous); flags and mounted files are the usual reasons."
        : `Correct what the agent complains about: ${last}`;
    },
  },
  {
    ...{ id: "agents-pending", about: "The agents' pods are scheduled and have a network" },
    ...{ problem: "pending", what: "are pending" },
    remedy: ({ seen }, found) =>
      seen.podsUnschedulable.count > 0 || found.some(({ node }) => node === "")
        ? "Look at the nodes: whether any is registered and Ready, and what kubectl describe pod says under Events."
        : "The pods have a node but no network yet: agents in the pod network start only after the CNI plugin does. Look at the network operator, or use --agent-network host.",
  },
];

const agentsRun = podProblems.map(({ id, about, problem, what, remedy }) =>
  bundleCheck(id, about, (bundle) => {
    const found = bundle.agentPods.filter((pod) => podProblem(pod) === problem);
    if (found.length === 0) return undefined;
    const why = found.find(({ waiting }) => waiting !== undefined)?.waiting;
    const reason = why === undefined ? "" : ` (${[why.reason, why.message].filter(Boolean).join(": ")})`;
    const message = `${found.length} of ${bundle.agentPods.length} agent pods ${what}${reason}`;
    const seen = found.slice(0, 3).map((pod) => pod.seen);
    return cause(problem === "pending" ? "likely" : "certain", message, remedy(bundle, found), seen);
  }),
);

export const agentAvailable = bundleCheck(
  "no-agent",
  "The kube-apiserver gets its tunnels",
  ({ incomplete, isTakenDown, seen: { agentConnected, noAgentAvailable } }) => {
    // Before the last agent came this is as it must be, or was.
    if (!noAgentAvailable.isAfter(agentConnected) || isTakenDown) return undefined;
    // A connection may stand in the part that is missing.
    if (incomplete !== undefined && agentConnected.count === 0) return undefined;
    const ever = agentConnected.last === undefined ? "and no agent ever connected" : "while no agent was connected";
    const message = `the kube-apiserver asked the server ${noAgentAvailable.count} times for a tunnel and got "No agent available", ${ever}`;
    const remedy =
      "This follows from the findings above, if there are any; otherwise look why no agent runs: oc get pods -A -l app=konnectivity-agent.";
    const none = evidence("bootstrap/containers/", "no agent connected in the server's log");
    return cause("possible", message, remedy, [...noAgentAvailable.evidence, agentConnected.last ?? none]);
  },
);

const agentsSurvive = bundleCheck("agents-killed", "No agent is killed for lack of memory", ({ containers }) => {
  const killed = containers.filter(({ name, reason }) => name === "konnectivity-agent" && reason === "OOMKilled");
  if (killed.length === 0) return undefined;
  const message = `${killed.length === 1 ? "an agent was" : `${killed.length} agents were`} killed because memory ran out`;
  const remedy = "Raise resources.limits.memory of the DaemonSet konnectivity-agent (docs/bootstrap.md has figures).";
  return cause(
    "certain",
    message,
    remedy,
    killed.slice(0, 3).map(({ seen }) => seen),
  );
});

export const certificateChecks = [...certificateTrust, addressCertified, addressOnHost];

export const agentChecks = [agentsAdmitted, ...agentsRun, agentsSurvive, ...agentReachability];
