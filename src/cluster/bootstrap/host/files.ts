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

  /** `root` stands in front of every path; tests have one of their own. */
  constructor(root = "", fs: Operations = nodeFs) {
    this.#root = root;
    this.#fs = fs;
  }

  /** Where a path of the host really lies, for those who read and write by themselves. */
  real(path: string): string {
    return this.#root === "" ? path : join(this.#root, path);
  }

  /** Undefined when it is not there. */
  async read(path: string): Promise<string | undefined> {
    try {
      return await this.#fs.readFile(this.real(path), "utf8");
    } catch (reason) {
      if (isAbsent(reason)) return undefined;
      throw fileError(path, "read", reason);
    }
  }

  /** Undefined when it is not there. Throws DB_RECORD_UNTRUSTED when somebody else could have written it. */
  async readTrusted(path: string): Promise<string | undefined> {
    try {
      return await readTrustedFile(this.real(path));
    } catch (reason) {
      throw reason instanceof DrawbridgeError ? reason : fileError(path, "read", reason);
    }
  }

  /** Throws DB_RECORD_UNTRUSTED when somebody else could put files there, or exchange it. */
  requireTrustedDirectory(path: string): Promise<void> {
    return requireTrustedDirectory(this.real(path));
  }

  /** Undefined when it is not there; links are not followed. */
  async status(path: string): Promise<FileStatus | undefined> {
    try {
      const status = await this.#fs.lstat(this.real(path));
      const kind = status.isFile()
        ? "file"
        : status.isDirectory()
          ? "directory"
          : status.isSocket()
            ? "socket"
            : "other";
      return { kind, mode: status.mode & 0o7777 };
    } catch (reason) {
      if (isAbsent(reason)) return undefined;
      throw fileError(path, "looked at", reason);
    }
  }

  /** Whether something lies in that directory. */
  async holdsAnything(path: string): Promise<boolean> {
    try {
      return (await this.#fs.readdir(this.real(path))).length > 0;
    } catch (reason) {
      if (isAbsent(reason)) return false;
      throw fileError(path, "read", reason);
    }
  }

  /** Directories above the path that do not exist yet, outermost first. */
  async missingAbove(path: string): Promise<string[]> {
    const missing: string[] = [];
    for (let above = dirname(path); above !== dirname(above) && !(await this.status(above)); above = dirname(above)) {
      missing.unshift(above);
    }
    return missing;
  }

  /** The one directory, not those above it. Neither mode nor group is the umask's business. */
  async makeDirectory(path: string, mode: number, group?: number): Promise<void> {
    try {
      const real = this.real(path);
      await this.#fs.mkdir(real, { mode: 0o700 }).catch(ignoring("EEXIST"));
      if (group !== undefined && group !== 0) await this.#fs.chown(real, -1, group);
      await this.#fs.chmod(real, mode);
    } catch (reason) {
      throw fileError(path, "made", reason);
    }
  }

  /** Beside its name first, under a name that the kubelet does not look at and `remove` knows. */
  async write(path: string, text: string, mode: number): Promise<void> {
    try {
      await replaceFile(this.real(path), text, mode, { temporary: this.real(besideOf(path)), fs: this.#fs });
    } catch (reason) {
      throw fileError(path, "written", reason);
    }
  }

  /**
   * With all that is in it, and with what an interrupted `write` left. Whether it was there. A link goes itself, not what
   * it leads to; what lies behind another user's link stays.
   */
  async remove(path: string): Promise<boolean> {
    const there = (await this.status(path)) !== undefined;
    if (there) await requireNoForeignLink(this.real(path));
    await this.removeUnfinished(path);
    try {
      if (there) await this.#fs.rm(this.real(path), { recursive: true, force: true });
    } catch (reason) {
      throw fileError(path, "removed", reason);
    }
    return there;
  }

  /** Only what an interrupted `write` left. */
  async removeUnfinished(path: string): Promise<void> {
    try {
      await this.#fs.rm(this.real(besideOf(path)), { force: true });
    } catch (reason) {
      // Where a directory should be there may be none, or a file.
      if (!isAbsent(reason)) throw fileError(path, "removed", reason);
    }
  }

  /** Whether it is gone; a directory that others use stays. */
  async removeEmpty(path: string): Promise<boolean> {
    try {
      await this.#fs.rmdir(this.real(path)).catch(ignoring("ENOENT", "ENOTEMPTY", "EEXIST", "EBUSY"));
    } catch (reason) {
      throw fileError(path, "removed", reason);
    }
    return (await this.status(path)) === undefined;
  }
}

function besideOf(path: string): string {
  return join(dirname(path), `.${basename(path)}.drawbridge-new`);
}

function ignoring(...codes: readonly string[]) {
  return (reason: NodeJS.ErrnoException): void => {
    if (!codes.includes(reason.code ?? "")) throw reason;
  };
}

function isAbsent(reason: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes((reason as NodeJS.ErrnoException).code ?? "");
}

const words: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EROFS: "the file system is read-only",
  EACCES: "this user may not do that",
  EPERM: "this user may not do that",
  ENOENT: "its directory does not exist",
};

function fileError(path: string, verb: string, reason: unknown): DrawbridgeError {
  const why = words[(reason as NodeJS.ErrnoException).code ?? ""] ?? messageOf(reason);
  return new DrawbridgeError("DB_HOST_FILE", `${path} cannot be ${verb}: ${why}.`, { cause: reason });
}
