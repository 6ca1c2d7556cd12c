/** Whether the server runs, and whether it can become ready, by logs, container states and listeners. */
import { cause } from "../../../base/finding.js";
import { ports } from "../../../cluster/bootstrap/model/names.js";
import { type Bundle, bundleCheck, type ContainerState } from "../bundle/bundle.js";

/** The port for agents that the server was started with. */
export function agentPortOf({ servers }: Bundle): number {
  return servers.map(({ flags }) => Number(flags.get("agent-port"))).find(Number.isInteger) ?? ports.agent;
}

const REMEDIES: readonly (readonly [RegExp, string])[] = [
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

/** Undefined when the server does not end again and again. */
function crashLoop({ containers, seen }: Bundle) {
  const own = containers.filter(({ name }) => name === "konnectivity-server").sort((a, b) => b.restarts - a.restarts);
  const ended = own.filter(({ exitCode = 0, restarts }) => exitCode !== 0 && restarts > 0);
  const isNoted = seen.serverCrashLoop.count > 0 || seen.serverRestarted.count > 1 || seen.serverRefusal.count > 1;
  // Early restarts are overcome when it runs in the end and agents found it; lack of memory comes back.
  const recovered = own[0]?.running !== false && seen.agentConnected.count > 0 && !ended.some(isKilled);
  return (ended.length > 0 || isNoted) && !recovered ? { worst: ended[0] } : undefined;
}

export const serverCrashes = bundleCheck("server-crash-loop", "The server does not end again and again", (bundle) => {
  const found = crashLoop(bundle);
  if (found === undefined) return undefined;
  const { worst } = found;
  const { serverRefusal, serverRestarted, serverCrashLoop } = bundle.seen;
  const reason = worst?.reason ? `, ${worst.reason}` : "";
  const codes = worst === undefined ? "" : ` (exit code ${worst.exitCode}${reason}, ${worst.restarts} restarts)`;
  const text = serverRefusal.last ?? "";
  const error = /[Ee]rror: (?:failed to validate server options with )?(.*)$/.exec(text)?.[1];
  const words = error === undefined ? "" : `: ${error.replace(/ \(DB_.*$/, "")}`;
  const remedy =
    worst !== undefined && isKilled(worst)
      ? "It was killed, most often because memory ran out: raise resources.limits.memory of the server's pod."
      : (REMEDIES.find(([pattern]) => pattern.test(text))?.[1] ??
        "Read the last lines of the server's log and correct the flag or file they name.");
  const lines = [serverRefusal, serverRestarted, serverCrashLoop].flatMap(({ last }) => last ?? []);
  return cause("certain", `the server ends again and again${codes}${words}`, remedy, [worst?.seen ?? [], lines].flat());
});

export const serverStarted = bundleCheck(
  "server-not-started",
  "The server was started and listens for agents",
  (bundle) => {
    if (crashLoop(bundle) !== undefined) return undefined;
    const { isTakenDown, listeningPorts, seen, serverLogs, servers } = bundle;
    const unstartable = cause(
      "certain",
      "the kubelet cannot start the server's container",
      "Check that the image in /etc/kubernetes/manifests/konnectivity-server-pod.yaml can be pulled on the bootstrap host (podman pull).",
      seen.serverCannotStart.evidence,
    );
    const port = agentPortOf(bundle);
    const isExpected = (servers.length > 0 || serverLogs > 0) && !isTakenDown;
    const silent = cause(
      "likely",
      `nothing listens on TCP ${port} of the bootstrap host, where agents should find the server`,
      "Look whether /etc/kubernetes/manifests/konnectivity-server-pod.yaml is there and what the kubelet's journal says of it.",
      [listeningPorts?.seen ?? [], seen.serverStarted.last ?? []].flat(),
    );
    return [
      ...(seen.serverCannotStart.count > 0 ? [unstartable] : []),
      ...(isExpected && listeningPorts?.ports.has(port) === false ? [silent] : []),
    ];
  },
);

const READY_REMEDY =
  "Start the server with --proxy-strategies=defaultRoute (agents announce nothing else), and do not wait for /readyz of a server that has destHost first; tunnels work either way.";

const destHostFirst = ({ servers }: Bundle) =>
  servers.filter(({ flags }) => /^destHost,/.test(flags.get("proxy-strategies") ?? ""));

/** A server, upstream's and ours alike, counts only the agents of its first strategy when asked whether it is ready. */
export const serverBecomesReady = bundleCheck(
  "never-ready",
  "The server is ready when agents are connected",
  (bundle) => {
    const { readiness, backends } = bundle;
    const isConnected = [...(backends?.byStrategy.values() ?? [])].some((count) => count > 0);
    if (readiness?.status !== 500 || backends === undefined || !isConnected) return undefined;
    const message =
      "the server says that it is not ready although agents are connected: its first strategy has none of them";
    const proof = [readiness.seen, backends.seen, ...destHostFirst(bundle).map(({ seen }) => seen)];
    return cause("certain", message, READY_REMEDY, proof);
  },
);

/** Without an answer of /readyz it is only worth knowing: OpenShift's own pod has no readiness probe. */
export function readinessObservations(bundle: Bundle): string[] {
  if (bundle.readiness !== undefined || destHostFirst(bundle).length === 0) return [];
  return [`The server runs with destHost as its first strategy: /readyz answers 500 for good. ${READY_REMEDY}`];
}
