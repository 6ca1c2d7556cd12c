/** Files of a host. What is written is there whole or not at all, and what a killed process left can be found again. */
import * as nodeFs from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { replaceFile } from "../../../base/files.js";
import { readTrustedFile, requireNoForeignLink, requireTrustedDirectory } from "../../../base/trusted-file.js";

export interface FileStatus {
  readonly kind: "file" | "directory" | "socket" | "other";
  /** Permission bits. */
  readonly mode: number;
}

type Operations = Pick<
  typeof nodeFs,
  "chmod" | "chown" | "lstat" | "mkdir" | "open" | "readdir" | "readFile" | "rename" | "rm" | "rmdir"
>;

export class HostFiles {
  readonly #root: string;
  readonly #fs: Operations;

  /** `root` is the prefix of every path; tests have one of their own. */
  constructor(root = "", fs: Operations = nodeFs) {
    this.#root = root;
    this.#fs = fs;
  }

  /** Where a path of the host really lies, for those who read and write by themselves. */
  real(path: string): string {
    return this.#root === "" ? path : join(this.#root, path);
  }

  /** Undefined when it is not there. */
  read(path: string): Promise<string | undefined> {
    return attempt(path, "read", () => this.#fs.readFile(this.real(path), "utf8").catch(undefinedIfAbsent));
  }

  /** Undefined when it is not there. Throws DB_RECORD_UNTRUSTED when somebody else could have written it. */
  readTrusted(path: string): Promise<string | undefined> {
    return attempt(path, "read", () => readTrustedFile(this.real(path)));
  }

  /** Throws DB_RECORD_UNTRUSTED when somebody else could put files there, or exchange it. */
  requireTrustedDirectory(path: string): Promise<void> {
    return requireTrustedDirectory(this.real(path));
  }

  /** Undefined when it is not there; links are not followed. */
  async status(path: string): Promise<FileStatus | undefined> {
    const status = await attempt(path, "looked at", () => this.#fs.lstat(this.real(path)).catch(undefinedIfAbsent));
    if (status === undefined) return undefined;
    const kinds = { file: status.isFile(), directory: status.isDirectory(), socket: status.isSocket(), other: true };
    const [kind] = (["file", "directory", "socket", "other"] as const).filter((name) => kinds[name]);
    return { kind: kind!, mode: status.mode & 0o7777 };
  }

  /** Whether something lies in that directory. */
  async holdsAnything(path: string): Promise<boolean> {
    const names = await attempt(path, "read", () => this.#fs.readdir(this.real(path)).catch(undefinedIfAbsent));
    return names !== undefined && names.length > 0;
  }

  /** Directories above the path that do not exist yet, outermost first. */
  async missingAbove(path: string): Promise<string[]> {
    const missing: string[] = [];
    for (let above = dirname(path); above !== dirname(above) && !(await this.status(above)); above = dirname(above)) {
      missing.unshift(above);
    }
    return missing;
  }

  /** Makes the directories above the path. Throws DB_BRIDGE_EXISTS when something else than this kind is in its place. */
  async preparePlace(path: string, kind: "file" | "directory"): Promise<void> {
    const status = await this.status(path);
    if (status !== undefined && status.kind !== kind)
      throw new DrawbridgeError("DB_BRIDGE_EXISTS", `${path} is there already and is not a ${kind}.`);
    for (const parent of await this.missingAbove(path)) await this.makeDirectory(parent, 0o755);
  }

  /** The one directory, not those above it. Neither mode nor group is the umask's business. */
  makeDirectory(path: string, mode: number, group?: number): Promise<void> {
    return attempt(path, "made", async () => {
      const real = this.real(path);
      await this.#fs.mkdir(real, { mode: 0o700 }).catch(ignoring("EEXIST"));
      if (group !== undefined && group !== 0) await this.#fs.chown(real, -1, group);
      await this.#fs.chmod(real, mode);
    });
  }

  /** Beside its name first, under a name that the kubelet does not look at and `remove` knows. */
  write(path: string, text: string, mode: number, { keep }: { readonly keep?: true } = {}): Promise<void> {
    const options = { temporary: this.real(besideOf(path)), fs: this.#fs, ...(keep && { keep }) };
    return attempt(path, "written", () => replaceFile(this.real(path), text, mode, options));
  }

  /**
   * With all that is in it, and with what an interrupted `write` left. Whether it was there. A link goes itself, not what
   * it leads to; what lies behind another user's link stays.
   */
  async remove(path: string): Promise<boolean> {
    const there = (await this.status(path)) !== undefined;
    if (there) await requireNoForeignLink(this.real(path));
    await this.removeUnfinished(path);
    if (there) await attempt(path, "removed", () => this.#fs.rm(this.real(path), { recursive: true, force: true }));
    return there;
  }

  /** Only what an interrupted `write` left. */
  async removeUnfinished(path: string): Promise<void> {
    // Where a directory should be there may be none, or a file.
    const remove = () => this.#fs.rm(this.real(besideOf(path)), { force: true }).catch(undefinedIfAbsent);
    await attempt(path, "removed", remove);
  }

  /** Whether it is gone; a directory that others use stays. */
  async removeEmpty(path: string): Promise<boolean> {
    const inUse = ignoring("ENOENT", "ENOTEMPTY", "EEXIST", "EBUSY");
    await attempt(path, "removed", () => this.#fs.rmdir(this.real(path)).catch(inUse));
    return (await this.status(path)) === undefined;
  }
}

/** Permission bits as people write them. */
export const octal = (mode: number): string => mode.toString(8).padStart(4, "0");

function besideOf(path: string): string {
  return join(dirname(path), `.${basename(path)}.drawbridge-new`);
}

function ignoring(...codes: readonly string[]) {
  return (reason: NodeJS.ErrnoException): undefined => {
    if (!codes.includes(reason.code ?? "")) throw reason;
  };
}

const undefinedIfAbsent = ignoring("ENOENT", "ENOTDIR");

const words: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EROFS: "the file system is read-only",
  EACCES: "this user may not do that",
  EPERM: "this user may not do that",
  ENOENT: "its directory does not exist",
};

/** Throws DB_HOST_FILE, or what is a DrawbridgeError already. */
async function attempt<T>(path: string, verb: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (reason) {
    if (reason instanceof DrawbridgeError) throw reason;
    const why = words[(reason as NodeJS.ErrnoException).code ?? ""] ?? messageOf(reason);
    throw new DrawbridgeError("DB_HOST_FILE", `${path} cannot be ${verb}: ${why}.`, { cause: reason });
  }
}
