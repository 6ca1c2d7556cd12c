/** The host doctor runs on, asked through /proc and `ip`. */
import { accessSync, constants, existsSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { lstat, open, readdir, readFile, readlink } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, isAbsolute, join } from "node:path";
import { listeningInodes } from "../../../base/port-holder.js";
import { runCommand } from "../../../base/run-command.js";
import { hostNetwork } from "../../../cluster/bootstrap/address/host-network.js";
import {
  commandLine,
  hostPids,
  type NetworkProcess,
  networkProcesses,
  textAt,
  wordsOf,
} from "../../../cluster/bootstrap/settings/programs.js";
import { unavailable } from "../check.js";
import type { RunningProgram, TcpListener } from "../facts.js";
import { isProgram, type ProgramKind } from "../programs.js";

/**
 * The path, for us, of a file that a process names: it may have another working directory, or be in a container, where
 * another file can have the same path.
 */
export function processFile(pid: number, path: string): string {
  const isOurs = seesOurFiles(pid);
  if (isAbsolute(path)) return isOurs ? path : `/proc/${pid}/root${path}`;
  const directory = isOurs ? linkAt(`/proc/${pid}/cwd`) : undefined;
  return directory === undefined ? `/proc/${pid}/cwd/${path}` : join(directory, path);
}

/** Undefined where it cannot be seen: the process is another user's, or its directory is gone. */
function linkAt(path: string): string | undefined {
  try {
    const target = readlinkSync(path);
    return existsSync(target) ? target : undefined;
  } catch {
    return undefined;
  }
}

/** True where it cannot be seen: the process is another user's. */
function seesOurFiles(pid: number): boolean {
  try {
    return ["ns/mnt", "root"].every(
      (link) => readlinkSync(`/proc/${pid}/${link}`) === readlinkSync(`/proc/self/${link}`),
    );
  } catch {
    return true;
  }
}

/** Throws Unavailable for a file that a process of another user may read, and doctor's user may not. */
export function readableHere(pid: number, files: readonly string[]): void {
  const own = process.getuid?.();
  const owner = statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid;
  if (own === undefined || owner === undefined || own === owner) return;
  for (const file of files.filter((each) => each !== "")) {
    try {
      accessSync(file, constants.R_OK);
    } catch (reason) {
      if ((reason as NodeJS.ErrnoException).code !== "EACCES") continue;
      const message = `doctor runs as user ${own}, who may not read ${file}; process ${pid} is user ${owner}'s`;
      unavailable(message, "Run doctor as root, or as the user of that process.");
    }
  }
}

/**
 * A file that a process names, as that process could read it. Anybody can start a program under one of our names and name
 * a file of others: its text must not be sent to a port that this program names. Undefined: the process may not read it.
 */
export async function readAs(pid: number, file: string): Promise<string | undefined> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const facts = await handle.stat();
    const isToken = facts.isFile() && facts.size <= LARGEST_TOKEN && mayRead(pid, handle.fd);
    // Reading a directory says that it is one.
    return isToken || facts.isDirectory() ? await handle.readFile("utf8") : undefined;
  } finally {
    await handle.close();
  }
}

const LARGEST_TOKEN = 64 * 1024;

/** By the open file, which nobody can exchange for another any more. */
function mayRead(pid: number, fd: number): boolean {
  try {
    const base = seesOurFiles(pid) ? "" : `/proc/${pid}/root`;
    if (base !== "" && !isMountedFor(pid, fd)) return false;
    const { uid, gids } = userOf(readFileSync(`/proc/${pid}/status`, "utf8"));
    const user = { uid, gids, mayAll: uid === 0 || uid === process.getuid?.() };
    return barrier(user, base + readlinkSync(`/proc/self/fd/${fd}`), 0o4) === undefined;
  } catch {
    return false;
  }
}

/** A link in a container's file system can lead into ours. */
function isMountedFor(pid: number, fd: number): boolean {
  const mount = /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1];
  return new RegExp(`^${mount} `, "m").test(readFileSync(`/proc/${pid}/mountinfo`, "utf8"));
}

/** Whether what a process was told may be run as if we had been told it: a kubeconfig names programs that are to be started. */
export function isTrusted(pid: number): boolean {
  const owner = statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid;
  return (owner === 0 || owner === process.getuid?.()) && seesOurFiles(pid);
}

/** Why a process may not connect to a Unix socket, by the modes of the socket and its directories; undefined: it may, or it is not known. */
export function whyForbidden(pid: number, socket: string): string | undefined {
  try {
    const user = userOf(readFileSync(`/proc/${pid}/status`, "utf8"));
    const found = barrier(user, socket, 0o2);
    if (found === undefined) return undefined;
    const { path, uid, gid, mode } = found;
    const who = `process ${pid} runs as user ${user.uid} with the groups ${user.gids.join(", ")}`;
    return `${who}, and ${path} is of ${uid}:${gid} with mode ${(mode & 0o777).toString(8).padStart(4, "0")}`;
  } catch {
    // Another user's process, or a socket that is gone: the dial says it.
  }
  return undefined;
}

/** What keeps a user from a path: itself, by this bit of its mode, or one of the directories that it is in. */
function barrier(user: Pick<ReturnType<typeof userOf>, "uid" | "gids" | "mayAll">, wanted: string, wantedBit: number) {
  for (const [path, bit] of [[wanted, wantedBit] as const, ...parentsOf(wanted).map((each) => [each, 0o1] as const)]) {
    const { uid, gid, mode } = statSync(path);
    const shift = uid === user.uid ? 6 : user.gids.includes(gid) ? 3 : 0;
    if (!user.mayAll && !((mode >> shift) & bit)) return { path, uid, gid, mode };
  }
  return undefined;
}

function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...parentsOf(parent)];
}

/** As the kernel judges its access to files. */
function userOf(status: string) {
  const line = (name: string): string[] =>
    (new RegExp(`^${name}:(.*)$`, "m").exec(status)?.[1] ?? "")
      .trim()
      .split(/\s+/)
      .filter((each) => each !== "");
  const gids = [...new Set([line("Gid")[3], ...line("Groups")].map(Number))];
  const mayAll = (BigInt(`0x${line("CapEff")[0] ?? "0"}`) & CAP_DAC_OVERRIDE) !== 0n;
  return { uid: Number(line("Uid")[3]), gids, mayAll };
}

const CAP_DAC_OVERRIDE = 1n << 1n;

/** Empty where it cannot be read: the process is another user's. */
export async function processEnvironment(pid: number): Promise<Readonly<Record<string, string>>> {
  const text = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
  return Object.fromEntries(
    text.split("\0").flatMap((each) => {
      const at = each.indexOf("=");
      return at < 1 ? [] : [[each.slice(0, at), each.slice(at + 1)]];
    }),
  );
}

/** Whether a process accepts connections on a Unix socket. */
export function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => end(true)).once("error", () => end(false));
  });
}

export type DoctorHost = ReturnType<typeof doctorHost>;

/** The host is asked without changing anything. `pid`: the process that is meant where several are alike; 0: the first. */
export const doctorHost = (pid = 0) => ({
  network: hostNetwork(),
  /** Undefined when the file does not exist. */
  readText: textAt,
  /** Undefined when the process may not read it. */
  readAs,
  /** TCP listeners in this network. */
  listeners,
  /** The program of this kind that runs in this network, and the processes that are like it. */
  async running(program: ProgramKind): Promise<RunningProgram | undefined> {
    const alike = (await networkProcesses()).filter(
      (each) => each.pid !== process.pid && isProgram(program, each.words),
    );
    const found = alike.find((each) => each.pid === pid) ?? alike[0];
    const others = alike.flatMap((each) => (each === found ? [] : each.pid));
    return found && { ...commandLine(`process ${found.pid}`, found.words), ...found, others };
  },
  routesTo,
});

export async function readSocketFile(path: string) {
  const [parent, file] = await Promise.all([dirname(path), path].map((each) => lstat(each).catch(() => undefined)));
  return {
    path,
    /** Undefined: it does not exist. */
    directory: parent && { path: dirname(path), isDirectory: parent.isDirectory(), mode: parent.mode & 0o777 },
    file: file && {
      ...{ isSocket: file.isSocket(), mode: file.mode & 0o777 },
      isListening: file.isSocket() && (await isListening(path)),
    },
  };
}

async function listeners(): Promise<readonly TcpListener[]> {
  const tables = await Promise.all(
    ["tcp", "tcp6"].map((name) => readFile(`/proc/net/${name}`, "utf8").catch(() => "")),
  );
  const ports = listeningInodes(tables.join("\n"));
  const owners = await ownersOf(new Set(ports.values()));
  return [...ports].map(([port, inode]) => ({ port, owner: owners.get(inode) }));
}

async function ownersOf(inodes: ReadonlySet<string>): Promise<Map<string, NetworkProcess>> {
  const found = new Map<string, NetworkProcess>();
  for (const pid of await hostPids()) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => "");
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
      if (inode !== undefined && inodes.has(inode)) found.set(inode, { pid, words: await wordsOf(pid) });
    }
  }
  return found;
}

/** Routes that cover an address, the default route left out; each as `ip` prints it. No packet is sent. */
async function routesTo(address: string): Promise<readonly string[]> {
  const family = address.includes(":") ? "-6" : "-4";
  const { code, stdout } = await runCommand(["ip", "-j", "-details", family, "route", "show", "match", address]);
  if (code !== 0) return [];
  const routes = JSON.parse(stdout.trim() || "[]") as Partial<Record<"type" | "dst" | "gateway" | "dev", string>>[];
  return routes
    .filter(({ dst, type = "unicast" }) => dst !== "default" && type === "unicast")
    .map(({ dst, gateway, dev }) => [dst, gateway && `via ${gateway}`, dev && `dev ${dev}`].filter(Boolean).join(" "));
}
