/** The server: does it run at all? */
import { ports } from "../../model/names.js";
import type { Evidence } from "../evidence.js";
import type { ContainerState, Facts } from "../facts/facts.js";
import { flagValue } from "../facts/programs.js";
import type { Finding } from "../finding.js";
import { isTakenDown } from "./stages.js";

export function agentPort(facts: Facts): number {
  const told = facts.serverArguments.map(({ words }) => Number(flagValue(words, "agent-port"))).find(Number.isInteger);
  return told ?? ports.agent;
}

export function server(facts: Facts): Finding[] {
  const crashed = crashLoop(facts);
  if (crashed.length > 0) return crashed;
  return [...cannotStart(facts), ...notListening(facts)];
}

function crashLoop(facts: Facts): Finding[] {
  const { refusal, restarted, agentConnected } = facts.server;
  const own = facts.containers
    .filter(({ name }) => name === "konnectivity-server")
    .sort((a, b) => b.restarts - a.restarts);
  const ended = own.filter(({ exitCode = 0, restarts }) => exitCode !== 0 && restarts > 0);
  const loops = ended.length > 0 || facts.kubelet.crashLoop.count > 0 || restarted.count > 1 || refusal.count > 1;
  // Early restarts are overcome when it runs in the end and agents found it; want of memory comes back.
  const recovered = own[0]?.running !== false && agentConnected.count > 0 && !ended.some(isKilled);
  if (!loops || recovered) return [];
  const [worst] = ended;
  const evidence = [
    ...(worst === undefined ? [] : [worst.seen]),
    ...refusal.evidence.slice(-1),
    ...restarted.evidence.slice(-1),
    ...facts.kubelet.crashLoop.evidence.slice(-1),
  ];
  return [
    {
      id: "server-crash-loop",
      likelihood: "certain",
      message: `the server ends again and again${codes(worst)}${saying(refusal.last)}`,
      evidence,
      remedy: remedyFor(refusal.last?.text ?? "", worst),
    },
  ];
}

function codes(worst: ContainerState | undefined): string {
  if (worst === undefined) return "";
  const reason = worst.reason === "" ? "" : `, ${worst.reason}`;
  return ` (exit code ${worst.exitCode}${reason}, ${worst.restarts} restarts)`;
}

function saying(last: Evidence | undefined): string {
  const text = /[Ee]rror: (?:failed to validate server options with )?(.*)$/.exec(last?.text ?? "")?.[1];
  return text === undefined ? "" : `: ${text.replace(/ \(DB_.*$/, "")}`;
}

const remedies: readonly (readonly [RegExp, string])[] = [
  [
    /unknown flag|unknown shorthand/,
    "Take the flag out of konnectivity-server-pod.yaml, or choose an image that knows it (drawbridge bootstrap inject --image).",
  ],
  [/server port should be set to 0/, "Give the server --server-port=0: a Unix socket excludes the TCP port."],
  [
    /checking (cluster|server)/,
    "The named file is not in the container: check that the certificates were made and that their directory is mounted at /etc/konnectivity.",
  ],
  [
    /address already in use|EADDRINUSE/,
    "Another process has the port: find it with ss -ltnp and stop it, or change --agent-port, --health-port or --admin-port.",
  ],
  [
    /permission denied|EACCES/i,
    "The server may not use the socket's directory: give its pod seLinuxOptions type spc_t, as drawbridge bootstrap render does.",
  ],
];

function remedyFor(text: string, worst: ContainerState | undefined): string {
  if (worst !== undefined && isKilled(worst)) {
    return "It was killed, most often for want of memory: raise resources.limits.memory of the server's pod.";
  }
  const [, remedy] = remedies.find(([pattern]) => pattern.test(text)) ?? [];
  return remedy ?? "Read the last lines of the server's log and correct the flag or file they name.";
}

function isKilled({ exitCode, reason }: ContainerState): boolean {
  return exitCode === 137 || reason === "OOMKilled";
}

function cannotStart({ kubelet }: Facts): Finding[] {
  if (kubelet.cannotStart.count === 0) return [];
  return [
    {
      id: "server-not-started",
      likelihood: "certain",
      message: "the kubelet cannot start the server's container",
      evidence: kubelet.cannotStart.evidence,
      remedy:
        "Check that the image in /etc/kubernetes/manifests/konnectivity-server-pod.yaml can be pulled on the bootstrap host (podman pull).",
    },
  ];
}

function notListening(facts: Facts): Finding[] {
  const { listeners } = facts;
  const port = agentPort(facts);
  const wanted = facts.serverArguments.length > 0 || facts.server.logs > 0;
  if (listeners === undefined || listeners.ports.has(port) || !wanted || isTakenDown(facts)) return [];
  return [
    {
      id: "server-not-started",
      likelihood: "likely",
      message: `nothing listens on TCP ${port} of the bootstrap host, where agents should find the server`,
      evidence: [listeners.seen, ...facts.server.started.evidence.slice(-1)],
      remedy:
        "Look whether /etc/kubernetes/manifests/konnectivity-server-pod.yaml is there and what the kubelet's journal says of it.",
    },
  ];
}
