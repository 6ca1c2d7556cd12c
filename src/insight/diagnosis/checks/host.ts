/** This host: its runtime, its limits, its ports, the server's socket, its clock. */
import { failed, type Judgement, ok, warning } from "../../../base/finding.js";
import { roughDuration } from "../../../base/text.js";
import { isProxyServer } from "../../../cluster/bootstrap/settings/programs.js";
import { defineCheck } from "../check.js";
import type { SocketFileState, TcpListener } from "../facts.js";

const OLDEST_NODE = [20, 19] as const;

export const nodeVersion = defineCheck({
  ...{ id: "node-version", about: "Node.js is recent enough", needs: ["nodeVersion"] },
  judge({ nodeVersion: version }) {
    const [major = 0, minor = 0] = version.split(".").map(Number);
    const isRecent = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
    if (isRecent) return ok(`Node ${version} is recent enough`);
    const oldest = OLDEST_NODE.join(".");
    return failed(`Node ${version} is older than ${oldest}`, `Install Node ${oldest} or newer.`);
  },
});

export const fips = defineCheck({
  ...{ id: "fips", about: "The host is not in FIPS mode", needs: ["isFips"] },
  judge({ isFips }) {
    if (!isFips) return ok("this host is not in FIPS mode");
    return warning(
      "this host is in FIPS mode, and the OpenSSL that Node brings is not a validated module",
      "Run the payload's programs: drawbridge bootstrap inject --image-kind payload (the default on OpenShift), or drawbridge bootstrap render --image-kind payload --image PULLSPEC.",
      "/proc/sys/crypto/fips_enabled: 1",
    );
  },
});

const ENOUGH_FILES = 4_096;

export const openFiles = defineCheck({
  ...{ id: "open-files", about: "The program may open enough files", needs: ["openFiles"] },
  judge({ openFiles: { who, path, line } }) {
    const soft = /^Max open files\s+(\d+|unlimited)/.exec(line)?.[1] ?? "0";
    if (soft === "unlimited" || Number(soft) >= ENOUGH_FILES) return ok(`${who} may open ${soft} files`);
    return warning(
      `${who} may open only ${soft} files, and every tunnel takes one or two`,
      "Write LimitNOFILE=1048576 into its unit, or run ulimit -n 65536 before it starts.",
      `${path}: ${line.replace(/\s+/g, " ").trim()}`,
    );
  },
});

export const portsFree = defineCheck({
  ...{ id: "ports", about: "The server's ports are free or the server's", needs: ["listeners", "serverPorts"] },
  judge({ listeners, serverPorts: { agent, health, admin } }) {
    const wanted = [
      [agent, "agents", "--agent-port"],
      [health, "health", "--health-port"],
      [admin, "admin", "--admin-port"],
    ] as const;
    return wanted.map(([port, what, flag]) => judgePort(port, what, flag, listeners));
  },
});

function judgePort(port: number, what: string, flag: string, listeners: readonly TcpListener[]): Judgement {
  const taken = listeners.find((listener) => listener.port === port);
  if (taken === undefined) return ok(`TCP ${port} (${what}) is free`);
  if (taken.owner === undefined) {
    const message = `TCP ${port} (${what}) is taken by a process that this user may not see`;
    return failed(message, "Run doctor as root to see whose it is.");
  }
  const { pid, words } = taken.owner;
  if (isProxyServer(words)) return ok(`TCP ${port} (${what}) is the server's (process ${pid})`);
  return failed(
    `TCP ${port} (${what}) is taken by process ${pid}, which is no proxy-server`,
    `Stop it, or give the server another ${flag}${flag === "--agent-port" ? " and the agents the same --proxy-server-port" : ""}.`,
    `process ${pid}: ${words.join(" ").slice(0, 160)}`,
  );
}

/** The size of sun_path in sockaddr_un, without its final zero. */
const LONGEST_SOCKET_PATH = 107;
const FOR_OTHERS = 0o007;

export const socketFile = defineCheck({
  ...{ id: "socket", about: "The server's socket has a valid path and is closed to others" },
  needs: ["socket", "model"],
  judge({ socket, model }) {
    const length = Buffer.byteLength(socket.path);
    if (length > LONGEST_SOCKET_PATH) {
      const message = `the socket's path has ${length} bytes, and ${LONGEST_SOCKET_PATH} fit`;
      return failed(message, "Choose a shorter one with --uds-name.", socket.path);
    }
    // On OpenShift the directory is the bootstrap host's; there the socket's own mode keeps others out.
    return [...(model.for === "openshift" ? [] : judgeDirectory(socket)), judgeSocket(socket)];
  },
});

function judgeDirectory({ directory }: SocketFileState): Judgement[] {
  if (directory === undefined) return [];
  const { path, isDirectory, mode } = directory;
  if (!isDirectory) return [failed(`${path} is not a directory`, "Remove it, or choose another path with --uds-name.")];
  if ((mode & FOR_OTHERS) === 0) return [];
  const message = `everybody may enter the socket's directory ${path}, and the socket opens the whole pod network`;
  return [failed(message, `chmod 0770 ${path}`, `${path}: mode ${octal(mode)}`)];
}

function judgeSocket({ file, path, isExpected = false }: SocketFileState): Judgement {
  const problem = isExpected ? failed : warning;
  if (file === undefined) {
    const remedy = `Start the server with --uds-name=${path}, or give the socket's path with --uds.`;
    return isExpected ? failed(`${path} does not exist`, remedy) : ok(`${path} does not exist yet; its path fits`);
  }
  if (!file.isSocket) {
    const message = `${path} exists and is not a socket, so the server refuses to start`;
    return failed(message, `Look what it is and remove it: rm ${path}`);
  }
  const mode = `mode ${octal(file.mode)}`;
  const remedy = `chmod 0770 ${path}; start the server with umask 0007`;
  if ((file.mode & FOR_OTHERS) !== 0) return failed(`everybody may use the socket ${path}`, remedy, mode);
  // 0770 is what upstream's server makes.
  if (file.mode !== 0o770)
    return problem(`a kube-apiserver that does not own the socket ${path} cannot use it`, remedy, mode);
  if (file.isListening) return ok(`a process listens on ${path}`, mode);
  return problem(
    `no process listens on the socket ${path}: a server that was killed left it behind`,
    "Start the server; it removes the old one (--delete-existing-uds-file, the default).",
  );
}

const octal = (mode: number): string => mode.toString(8).padStart(4, "0");

/** The Date header has whole seconds only. */
const TOLERABLE_MS = 10_000;
/** Certificates are back-dated by two hours; beyond this a clock is wrong. */
const SERIOUS_MS = 5 * 60_000;

/** Certificates live a day: clocks that disagree end them early or start them late. */
export const clock = defineCheck({
  ...{ id: "clock", about: "This host's clock agrees with another one", needs: ["otherClock"] },
  judge({ otherClock: { here, there, tookMs, where, whose } }) {
    const off = here.getTime() - there.getTime();
    const size = Math.max(0, Math.abs(off) - tookMs);
    const evidence = [`here ${here.toISOString()}`, `${where} ${there.toISOString()}`];
    if (size <= TOLERABLE_MS) return ok(`this host's clock agrees with ${whose}`, ...evidence);
    const message = `this host's clock is ${roughDuration(Math.abs(off))} ${off > 0 ? "ahead of" : "behind"} ${whose}`;
    const remedy = "Set the clock: chronyc makestep; chronyc tracking shows which of the two is right.";
    return (size > SERIOUS_MS ? failed : warning)(message, remedy, ...evidence);
  },
});
