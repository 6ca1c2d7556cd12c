/**
 * Files whose content is acted upon: what they name is removed, what they hold is run. They are believed only when nobody
 * but root and this user can have written them.
 */
import { constants, type Stats } from "node:fs";
import { lstat, open, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { DrawbridgeError } from "./errors/error.js";

/** This process' user and group. */
export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

const me = (): UserIds => ({ uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 });

/** Undefined when there is none. Throws DB_RECORD_UNTRUSTED when somebody else could have written it. */
export async function readTrustedFile(path: string): Promise<string | undefined> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (reason: NodeJS.ErrnoException) => {
      if (reason.code === "ENOENT" || reason.code === "ENOTDIR") return undefined;
      if (reason.code === "ELOOP") throw untrusted(path, "it is a symbolic link");
      throw reason;
    },
  );
  if (handle === undefined) return undefined;
  try {
    const fault = fileFault(await handle.stat(), me());
    if (fault !== undefined) throw untrusted(path, fault);
    await requireTrustedDirectory(dirname(path));
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

/** The directory itself and all above it: whoever can rename one of them can put another file in its place. */
export async function requireTrustedDirectory(path: string): Promise<void> {
  const own = await lstat(path);
  const fault = own.isDirectory() ? directoryFault(own, me(), false) : "it is not a directory";
  if (fault !== undefined) throw untrusted(path, fault);
  const real = await realpath(dirname(path));
  for (const above of new Set([...allAbove(path), real, ...allAbove(real)])) {
    const status = await lstat(above);
    const faultAbove = status.isSymbolicLink() ? ownerFault(status, me()) : directoryFault(status, me(), true);
    if (faultAbove !== undefined) throw untrusted(above, faultAbove);
  }
}

/** Throws DB_RECORD_UNTRUSTED when the path of a file leads over a link that somebody else made. */
export async function requireNoForeignLink(path: string): Promise<void> {
  for (const above of allAbove(path)) {
    const status = await lstat(above);
    const fault = status.isSymbolicLink() ? ownerFault(status, me()) : undefined;
    if (fault !== undefined) throw untrusted(above, `it is a symbolic link, and ${fault}`);
  }
}

/** The outermost first. */
function allAbove(path: string): string[] {
  const above = dirname(path);
  return above === path ? [] : [...allAbove(above), above];
}

/** Half a sentence; undefined when only root and this user can have written it. */
export function fileFault(
  status: Pick<Stats, "uid" | "mode"> & { isFile(): boolean },
  who: UserIds,
): string | undefined {
  if (!status.isFile()) return "it is not a plain file";
  return ownerFault(status, who) ?? ((status.mode & 0o022) === 0 ? undefined : writable(status.mode));
}

/** `sticky`: in a directory such as /tmp nobody can exchange what belongs to others. */
export function directoryFault(
  { uid, gid, mode }: Pick<Stats, "uid" | "gid" | "mode">,
  who: UserIds,
  sticky: boolean,
): string | undefined {
  const foreign = ownerFault({ uid }, who);
  if (foreign !== undefined) return foreign;
  if (sticky && (mode & 0o1000) !== 0) return undefined;
  // Where every user has a group of one's own, directories are writable for that group.
  const ofGroup = who.uid !== 0 && gid === who.gid ? 0 : 0o020;
  return (mode & (0o002 | ofGroup)) === 0 ? undefined : writable(mode);
}

function ownerFault({ uid }: Pick<Stats, "uid">, who: UserIds): string | undefined {
  return uid === 0 || uid === who.uid ? undefined : `it belongs to user ${uid}, neither to root nor to this user`;
}

function writable(mode: number): string {
  return `others may write to it (mode ${(mode & 0o7777).toString(8).padStart(4, "0")})`;
}

function untrusted(path: string, why: string): DrawbridgeError {
  return new DrawbridgeError("DB_RECORD_UNTRUSTED", `${path} is not believed: ${why}.`);
}
