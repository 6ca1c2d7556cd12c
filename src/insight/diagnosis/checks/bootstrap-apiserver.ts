/** The kube-apiserver in a bundle: whether it uses the tunnel, and can. */
import { basename } from "node:path";
import { cause, type Judgement } from "../../../base/finding.js";
import { type Bundle, bundleCheck, type SocketFailure } from "../bundle/bundle.js";

const FLAG = "egress-selector-config-file";

const usesEgress = bundleCheck("api-server-flag", "The kube-apiserver uses the egress configuration", (bundle) => {
  const { running, written } = bundle.apiServer;
  const known = running ?? written;
  if (!bundle.hasServer || known === undefined || known.flags.get(FLAG)) return undefined;
  const message = `the kube-apiserver has no --${FLAG}: its calls to webhooks and other pods do not take the tunnel`;
  const isWritten = running !== undefined && written?.flags.get(FLAG) !== undefined;
  const remedy = isWritten
    ? `Restart the kube-apiserver: ${written.source} has the flag, the running process does not.`
    : `Set the flag and restart the kube-apiserver: on OpenShift drawbridge bootstrap inject --check FILE says what is missing in bootstrap.ign, on kubeadm drawbridge bootstrap up --apply sets it.`;
  return cause("certain", message, remedy, [known.seen, isWritten ? written.seen : []].flat());
});

const whatToDo: Readonly<Record<SocketFailure, readonly [what: string, remedy: string]>> = {
  "permission denied": [
    "may not use the socket",
    "Compare the users of both processes with the socket's owner and mode (ls -lZ), and let SELinux allow it: the server's pod needs seLinuxOptions type spc_t, as drawbridge bootstrap render writes it. Then no restart is needed.",
  ],
  "no such file or directory": [
    "does not find the socket",
    "Look whether the server runs, and whether the directory of the socket is mounted into the kube-apiserver's pod under the name that the egress configuration has.",
  ],
  "connection refused": [
    "finds a socket that nobody listens on",
    "Start the server: it ended and left its socket behind. If it runs, its --uds-name is another file.",
  ],
};

const socketUsable = bundleCheck("api-server-socket", "The kube-apiserver can use the server's socket", (bundle) => {
  if (bundle.isTakenDown) return undefined;
  const { seen, servers, socketDirectory } = bundle;
  return [...bundle.socketFailures].flatMap(([kind, { socket, seen: failure }]): Judgement[] => {
    // The kube-apiserver may be first; a server that started afterwards made the socket.
    if (kind !== "permission denied" && !failure.isAfter(seen.serverStarted)) return [];
    const [what, remedy] = whatToDo[kind];
    const own = servers.map(({ flags }) => flags.get("uds-name")).find((name) => name !== undefined);
    const other = own !== undefined && basename(own) !== basename(socket) ? `; the server listens on ${own}` : "";
    const message = `the kube-apiserver ${what} ${socket} (${kind}, ${failure.count} times)${other}`;
    return [cause("certain", message, remedy, [...failure.evidence, socketDirectory?.seen ?? []].flat())];
  });
});

/** Without a complaint of the kube-apiserver, which may not have needed the tunnel yet. */
const socketThere = bundleCheck("socket-missing", "The server's socket is there", (bundle) => {
  const { hasServer, listeningPorts, servers, socketDirectory, socketFailures } = bundle;
  const own = servers.map(({ flags }) => flags.get("uds-name")).find((name) => name !== undefined);
  if (!hasServer || own === undefined || socketDirectory === undefined || socketFailures.size > 0) return undefined;
  if (socketDirectory.sockets.includes(basename(own))) return undefined;
  // A server that does not run is the finding itself.
  const port = servers.map(({ flags }) => Number(flags.get("agent-port"))).find(Number.isInteger);
  if (port === undefined || listeningPorts?.ports.has(port) !== true) return undefined;
  const message = `the server runs, but its socket ${own} is not in its directory`;
  const remedy =
    "Somebody removed it, or the server's pod has another directory mounted there: compare the mounts, then restart the server.";
  return cause("likely", message, remedy, [socketDirectory.seen, listeningPorts.seen]);
});

const apiServerStays = bundleCheck("api-server-ends", "The kube-apiserver does not end again and again", (bundle) => {
  const { containers, seen } = bundle;
  const own = containers.filter(({ name }) => name === "kube-apiserver").sort((a, b) => b.restarts - a.restarts);
  const [newest] = own;
  const ended = own.find(({ exitCode = 0, restarts }) => exitCode !== 0 && restarts > 0);
  if (newest === undefined || newest.running || ended === undefined) return undefined;
  const error = /err="((?:[^"\\\\]|\\\\.)*)"|Error: (.*)/.exec(seen.apiServerEnded.last ?? "");
  const words = error?.[1] ?? error?.[2];
  const why = words === undefined ? "" : `: ${words}`;
  const message = `the kube-apiserver itself ends again and again (exit code ${ended.exitCode}, ${ended.restarts} restarts)${why}`;
  const remedy = /egress|konnectivity/i.test(words ?? "")
    ? "Correct its egress configuration (drawbridge bootstrap render --part host writes it), and start it again."
    : "Read the last lines of its log and correct what they name; the bridge is not the cause of it.";
  return cause("certain", message, remedy, [ended.seen, seen.apiServerEnded.last ?? []].flat());
});

/** Causes before their consequences. */
export const apiServerChecks = [apiServerStays, usesEgress, socketUsable, socketThere];

/** A webhook that fails says nothing about the tunnel by itself, but it is what people look for. */
export function webhookObservations({ seen: { webhookFailed } }: Bundle): string[] {
  const { count, last } = webhookFailed;
  if (last === undefined) return [];
  return [
    `The kube-apiserver could not call a webhook ${count === 1 ? "once" : `${count} times`}; the last time: ${last}`,
  ];
}
