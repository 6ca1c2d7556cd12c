/** Writes a tar.gz file completely or not at all: under a temporary name first, which is then renamed. */
import { once } from "node:events";
import { createWriteStream, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { DrawbridgeError, messageOf } from "./errors/error.js";
import { moveIntoPlace, temporaryPathFor } from "./files.js";
import { onInterruption } from "./signals.js";
import { TAR_END, tarMember } from "./tar.js";

export class ArchiveWriter {
  readonly #path: string;
  readonly #beside: string;
  readonly #gzip = createGzip();
  readonly #done: Promise<void>;
  readonly #settled: () => void;
  /** Nothing more can be written. */
  failed = false;

  constructor(path: string) {
    this.#path = path;
    this.#beside = temporaryPathFor(path);
    const file = createWriteStream(this.#beside, { mode: 0o600, flags: "wx" });
    this.#done = pipeline(this.#gzip, file);
    // The next write or close reports it.
    this.#done.catch(() => undefined);
    this.#settled = onInterruption(() => rmSync(this.#beside, { force: true }));
  }

  async add(name: string, content: Buffer, modifiedAt: Date): Promise<void> {
    try {
      for (const piece of tarMember({ path: name, mode: 0o600, content, modifiedAt })) await this.#write(piece);
    } catch (reason) {
      throw this.#failed(reason);
    }
  }

  async close(): Promise<void> {
    try {
      this.#gzip.end(TAR_END);
      await this.#done;
      await moveIntoPlace(this.#beside, this.#path);
      this.#settled();
    } catch (reason) {
      await this.discard();
      throw this.#failed(reason);
    }
  }

  /** Leaves nothing behind. */
  async discard(): Promise<void> {
    this.#gzip.destroy();
    await this.#done.catch(() => undefined);
    await rm(this.#beside, { force: true }).catch(() => undefined);
    this.#settled();
  }

  async #write(piece: Buffer): Promise<void> {
    if (this.#gzip.destroyed) await this.#done;
    if (!this.#gzip.write(piece)) await Promise.race([once(this.#gzip, "drain"), this.#done]);
  }

  #failed(reason: unknown): DrawbridgeError {
    this.failed = true;
    return new DrawbridgeError("DB_ARCHIVE_WRITE", `${this.#path} cannot be written: ${messageOf(reason)}.`, {
      cause: reason,
    });
  }
}
