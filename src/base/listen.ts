/** Opens a listener, or says in one sentence why it cannot be opened. */

import { chmodSync, chownSync, linkSync, lstatSync, mkdtempSync, renameSync, rmSync, unlinkSync } from "node:fs";
import { connect, type Server } from "node:net";
import { basename, dirname, join } from "node:path";
import { type Connections, type ListenerLimits, processConnections } from "./connections.js";
import type { ErrorCode } from "./errors/catalogue.js";
import { DrawbridgeError, messageOf, unwrittenRemedy } from "./errors/error.js";
import { portHolder } from "./port-holder.js";

/** Peers come in bursts, when a kube-apiserver starts or a data centre boots; the kernel's default would refuse some. */
const BACKLOG = 4096;

/** A host that is empty or missing means all interfaces. */
export type Where = { readonly host?: string; readonly port: number } | { readonly path: string };

/** Resolves once the server accepts connections, which then are among `connections`. `what` names it for people. */
export function listenOn(
  server: Server,
  what: string,
  where: Where,
  limits: ListenerLimits,
  connections: Connections = processConnections,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const port = "port" in where ? where.port : undefined;
    const onError = (reason: Error): void => {
      const holder = port === undefined ? undefined : ports.get(port);
      const isOwn = holder !== undefined && (reason as NodeJS.ErrnoException).code === "EADDRINUSE";
      reject(isOwn ? takenByUs(what, nameOf(where), holder) : listenError(what, nameOf(where), reason, port));
    };
    server.once("error", onError);
    const place = "path" in where || where.host !== "" ? where : { port: where.port };
    server.listen({ ...place, backlog: BACKLOG }, () => {
      server.off("error", onError);
      // Accept errors (no descriptors left, say) are that peer's loss, not the process's.
      server.on("error", () => {});
      connections.watch(server, what, "path" in where, limits);
      if (port !== undefined && port !== 0) {
        ports.set(port, what);
        server.once("close", () => ports.delete(port));
      }
      resolve();
    });
  });
}

/** What this process listens for on which port. */
const ports = new Map<number, string>();

function takenByUs(what: string, address: string, holder: string): DrawbridgeError {
  const sentence = `The ${what} listener cannot open ${address}: the ${holder} listener of this process has that port.`;
  return new DrawbridgeError("DB_LISTEN_TWICE", sentence);
}

function nameOf(where: Where): string {
  if ("path" in where) return where.path;
  const host = where.host || "*";
  return `${host.includes(":") ? `[${host}]` : host}:${where.port}`;
}

const LISTEN_FAILURES: Readonly<Record<string, string>> = {
  EADDRINUSE: "it is already in use",
  EEXIST: "it is already in use",
  EACCES: "this user may not use it",
  EADDRNOTAVAIL: "it is not an address of this host",
  ENOENT: "its directory does not exist",
  EMFILE: "this process has too many open files (EMFILE)",
  ENFILE: "this host has too many open files (ENFILE)",
  ENOTFOUND: "its name cannot be looked up, and an address of this host is needed",
  EAI_AGAIN: "its name cannot be looked up, and an address of this host is needed",
};

const LISTEN_CODES: Readonly<Record<string, ErrorCode>> = {
  EADDRINUSE: "DB_LISTEN_IN_USE",
  EEXIST: "DB_LISTEN_IN_USE",
  EMFILE: "DB_OPEN_FILES",
  ENFILE: "DB_OPEN_FILES",
};

/** Why the listener cannot use `address`, for people. */
function listenError(what: string, address: string, cause: unknown, port?: number): DrawbridgeError {
  const reason = (cause as NodeJS.ErrnoException | null)?.code ?? "";
  const known = LISTEN_FAILURES[reason];
  const code = LISTEN_CODES[reason] ?? "DB_LISTEN";
  const holder = code === "DB_LISTEN_IN_USE" && port !== undefined ? portHolder(port) : undefined;
  const by = holder === undefined ? "" : `: port ${port} is held by ${holder}`;
  return new DrawbridgeError(code, `The ${what} listener cannot open ${address}: ${known ?? messageOf(cause)}${by}.`, {
    cause,
    remedy: unwrittenRemedy(cause),
  });
}

export interface SocketFile {
  readonly path: string;
  readonly fileMode: number;
  /** Undefined: what the process has. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
  /** Whether a socket that is there already is replaced. */
  readonly replace: boolean;
}

export interface OpenSocketFile {
  /** Removes the socket unless another is in its place; it is to be called before the server is closed. */
  remove(): void;
  /** Another process served it until now: one that is about to end, or one that was given the same path by mistake. */
  readonly wasServed: boolean;
}

/** Whether a process accepts connections there. The kernel answers at once; one that does not answer is not waited for. */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path, timeout: 250 });
    const answer = (is: boolean) => () => {
      socket.destroy();
      resolve(is);
    };
    socket.once("connect", answer(true)).once("error", answer(false)).once("timeout", answer(false));
  });
}

/** The kernel's sockaddr_un holds 108 bytes, the last of them zero. */
const MAX_PATH_BYTES = 107;

/**
 * Listens on a Unix socket. The socket is made in a folder that nobody else can enter, gets its mode and owner there, and
 * is then moved to its path: nobody can connect before both are right, nobody can place a link there when they are set, and
 * the path is never empty when one process follows another. Resolves once the server accepts connections.
 */
export async function listenOnSocketFile(
  server: Server,
  what: string,
  file: SocketFile,
  limits: ListenerLimits,
  connections?: Connections,
): Promise<OpenSocketFile> {
  const { path } = file;
  refuseOther(path);
  refuseTooLong(path, path);
  const folder = orListenError(what, path, () => mkdtempSync(`${dirname(path)}/.`));
  try {
    // By the same name where that fits: tools that list sockets show the name under which one was made.
    const named = join(folder, basename(path));
    const made = Buffer.byteLength(named) <= MAX_PATH_BYTES ? named : join(folder, "s");
    refuseTooLong(path, made);
    await listenOn(server, what, { path: made }, limits, connections);
    chmodSync(made, file.fileMode);
    if (file.owner !== undefined) chownSync(made, file.owner.uid, file.owner.gid);
    const { dev, ino } = lstatSync(made, { bigint: true });
    const wasServed = file.replace && (await isServed(path));
    orListenError(what, path, () => (file.replace ? renameSync : linkSync)(made, path));
    let isThere = true;
    const remove = (): void => {
      // Once: when the socket is closed its number may go to another.
      if (!isThere) return;
      isThere = false;
      const now = lstatSync(path, { bigint: true, throwIfNoEntry: false });
      if (now?.dev === dev && now.ino === ino) unlinkSync(path);
    };
    return { remove, wasServed };
  } catch (error) {
    server.close();
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function orListenError<T>(what: string, path: string, run: () => T): T {
  try {
    return run();
  } catch (reason) {
    throw listenError(what, path, reason);
  }
}

function refuseTooLong(path: string, made: string): void {
  const excess = Buffer.byteLength(made) - MAX_PATH_BYTES;
  if (excess <= 0) return;
  throw new DrawbridgeError(
    "DB_UDS_PATH_TOO_LONG",
    `the socket path ${path} is ${excess} bytes longer than the kernel takes; choose a shorter one.`,
  );
}

/** Upstream deletes whatever is there; a mistyped path must not cost anybody a file. */
function refuseOther(path: string): void {
  const existing = lstatSync(path, { throwIfNoEntry: false });
  if (existing === undefined || existing.isSocket()) return;
  throw new DrawbridgeError("DB_UDS_NOT_SOCKET", `${path} exists and is not a socket; it is left alone.`);
}
