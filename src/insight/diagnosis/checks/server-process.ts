/** Whether the server runs, and whether it can become ready, by logs, container states and listeners. */
import { cause } from "../../../base/finding.js";
import { ports } from "../../../cluster/bootstrap/model/names.js";
import type { ContainerState } from "../bundle/facts.js";
import { defineCheck } from "../check.js";
import type { Facts } from "../facts.js";
import { isTakenDown } from "./bootstrap-services.js";

/** The port for agents that the server was started with. */
export function agentPortOf(servers: Facts["serverPrograms"]): number {
  return servers.map(({ flags }) => Number(flags.get("agent-port"))).find(Number.isInteger) ?? ports.agent;
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

const isKilled = ({ exitCode, reason }: ContainerState): boolean => exitCode === 137 || reason === "OOMKilled";

type ServerFacts = Pick<Facts, "serverLog" | "kubeletLog" | "containers">;

/** Undefined when the server does not end again and again. */
function crashLoop({ serverLog, kubeletLog, containers }: ServerFacts) {
  const { refusal, restarted, agentConnected } = serverLog;
  const own = containers.filter(({ name }) => name === "konnectivity-server").sort((a, b) => b.restarts - a.restarts);
  const ended = own.filter(({ exitCode = 0, restarts }) => exitCode !== 0 && restarts > 0);
  const loops = ended.length > 0 || kubeletLog.crashLoop.count > 0 || restarted.count > 1 || refusal.count > 1;
  // Early restarts are overcome when it runs in the end and agents found it; lack of memory comes back.
  const recovered = own[0]?.running !== false && agentConnected.count > 0 && !ended.some(isKilled);
  return loops && !recovered ? { worst: ended[0] } : undefined;
}

export const serverCrashes = defineCheck({
  id: "server-crash-loop",
  about: "The server does not end again and again",
  needs: ["serverLog", "kubeletLog", "containers"],
  judge(facts) {
    const found = crashLoop(facts);
    if (found === undefined) return [];
    const { worst } = found;
    const { refusal, restarted } = facts.serverLog;
    const reason = worst?.reason ? `, ${worst.reason}` : "";
    const codes = worst === undefined ? "" : ` (exit code ${worst.exitCode}${reason}, ${worst.restarts} restarts)`;
    const text = refusal.last ?? "";
    const error = /[Ee]rror: (?:failed to validate server options with )?(.*)$/.exec(text)?.[1];
    const words = error === undefined ? "" : `: ${error.replace(/ \(DB_.*$/, "")}`;
    const remedy =
      worst !== undefined && isKilled(worst)
        ? "It was killed, most often because memory ran out: raise resources.limits.memory of the server's pod."
        : (remedies.find(([pattern]) => pattern.test(text))?.[1] ??
          "Read the last lines of the server's log and correct the flag or file they name.");
    return [
      cause("certain", `the server ends again and again${codes}${words}`, remedy, [
        ...(worst === undefined ? [] : [worst.seen]),
        ...[refusal, restarted, facts.kubeletLog.crashLoop].flatMap(({ last }) => last ?? []),
      ]),
    ];
  },
});

export const serverStarted = defineCheck({
  id: "server-not-started",
  about: "The server was started and listens for agents",
  needs: ["serverLog", "kubeletLog", "containers", "serverPrograms", "services"],
  uses: ["listeningPorts"],
  judge(facts) {
    if (crashLoop(facts) !== undefined) return [];
    const { cannotStart } = facts.kubeletLog;
    const unstartable = cause(
      "certain",
      "the kubelet cannot start the server's container",
      "Check that the image in /etc/kubernetes/manifests/konnectivity-server-pod.yaml can be pulled on the bootstrap host (podman pull).",
      cannotStart.evidence,
    );
    const { listeningPorts, serverPrograms, serverLog } = facts;
    const port = agentPortOf(serverPrograms);
    const isExpected = (serverPrograms.length > 0 || serverLog.files > 0) && !isTakenDown(facts.services);
    const silent = cause(
      "likely",
      `nothing listens on TCP ${port} of the bootstrap host, where agents should find the server`,
      "Look whether /etc/kubernetes/manifests/konnectivity-server-pod.yaml is there and what the kubelet's journal says of it.",
      [listeningPorts?.seen ?? [], serverLog.started.last ?? []].flat(),
    );
    return [
      ...(cannotStart.count > 0 ? [unstartable] : []),
      ...(isExpected && listeningPorts?.ports.has(port) === false ? [silent] : []),
    ];
  },
});

const READY_REMEDY =
  "Start the server with --proxy-strategies=defaultRoute (agents announce nothing else), and do not wait for /readyz of a server that has destHost first; tunnels work either way.";

const destHostFirst = (servers: Facts["serverPrograms"]) =>
  servers.filter(({ flags }) => /^destHost,/.test(flags.get("proxy-strategies") ?? ""));

/** A server, upstream's and ours alike, counts only the agents of its first strategy when asked whether it is ready. */
export const serverBecomesReady = defineCheck({
  id: "never-ready",
  about: "The server is ready when agents are connected",
  needs: ["serverPrograms"],
  uses: ["readiness", "backends"],
  judge({ readiness, backends, serverPrograms }) {
    const isConnected = [...(backends?.byStrategy.values() ?? [])].some((count) => count > 0);
    if (readiness?.status !== 500 || backends === undefined || !isConnected) return [];
    const message =
      "the server says that it is not ready although agents are connected: its first strategy has none of them";
    const evidence = [readiness.seen, backends.seen, ...destHostFirst(serverPrograms).map(({ seen }) => seen)];
    return [cause("certain", message, READY_REMEDY, evidence)];
  },
});

/** Without an answer of /readyz it is only worth knowing: OpenShift's own pod has no readiness probe. */
export function readinessObservations({ readiness, serverPrograms }: Pick<Facts, "readiness" | "serverPrograms">) {
  if (readiness !== undefined || destHostFirst(serverPrograms).length === 0) return [];
  return [`The server runs with destHost as its first strategy: /readyz answers 500 for good. ${READY_REMEDY}`];
}
