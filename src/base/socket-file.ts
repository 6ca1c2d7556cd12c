/**
 * Listens on a Unix socket. The socket is made in a folder that nobody else can enter, gets its mode and owner there, and
 * is then moved to its place: nobody can connect before both are right, nobody can have a link in the way when they are
 * set, and the place is never empty when one process follows another.
 */
import { chmodSync, chownSync, linkSync, lstatSync, mkdtempSync, renameSync, rmSync, unlinkSync } from "node:fs";
import type { Server } from "node:net";
import { basename, dirname, join } from "node:path";
import type { ListenerLimits } from "./connection.js";
import type { Connections } from "./connections.js";
import { DrawbridgeError } from "./errors/error.js";
import { listenError, listenOn } from "./listen.js";

export interface SocketFile {
  readonly path: string;
  readonly fileMode: number;
  /** Undefined: what the process has. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
  /** Whether a socket that is there already makes way. */
  readonly replace: boolean;
}

/** The kernel's sockaddr_un holds 108 bytes, the last of them zero. */
const MAX_PATH_BYTES = 107;

/**
 * Resolves once the server accepts connections to a function that removes the socket, unless another is
 * in its place; it is to be called before the server is closed.
 */
export async function listenOnSocketFile(
  server: Server,
  what: string,
  file: SocketFile,
  limits: ListenerLimits,
  connections?: Connections,
): Promise<() => void> {
  const { path } = file;
  refuseOther(path, file.replace);
  const folder = makeFolder(what, path);
  try {
    // By the same name where that fits: tools that list sockets show the name under which one was made.
    const named = join(folder, basename(path));
    const made = Buffer.byteLength(named) <= MAX_PATH_BYTES ? named : join(folder, "s");
    refuseTooLong(path, made);
    await listenOn(server, what, { path: made }, limits, connections);
    chmodSync(made, file.fileMode);
    if (file.owner !== undefined) chownSync(made, file.owner.uid, file.owner.gid);
    const { dev, ino } = lstatSync(made, { bigint: true });
    moveTo(path, made, what, file.replace);
    let isThere = true;
    return () => {
      // Once: when the socket is closed its number may go to another.
      if (!isThere) return;
      isThere = false;
      const now = lstatSync(path, { bigint: true, throwIfNoEntry: false });
      if (now?.dev === dev && now.ino === ino) unlinkSync(path);
    };
  } catch (error) {
    server.close();
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function moveTo(path: string, made: string, what: string, replace: boolean): void {
  try {
    if (replace) renameSync(made, path);
    else linkSync(made, path);
  } catch (reason) {
    throw listenError(what, path, reason);
  }
}

function makeFolder(what: string, path: string): string {
  refuseTooLong(path, path);
  try {
    return mkdtempSync(`${dirname(path)}/.`);
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
function refuseOther(path: string, replace: boolean): void {
  const existing = lstatSync(path, { throwIfNoEntry: false });
  if (!replace || existing === undefined || existing.isSocket()) return;
  throw new DrawbridgeError("DB_UDS_NOT_SOCKET", `${path} exists and is not a socket; it is left alone.`);
}
