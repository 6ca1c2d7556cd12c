/** Writes a tar.gz, whole or not at all: beside its place first, then renamed. */
import { once } from "node:events";
import { createWriteStream, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { moveIntoPlace, temporaryPathFor } from "../../../base/files.js";
import { onInterruption } from "../ssh/interruption.js";

const BLOCK = 512;

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
    // Told to whoever writes or closes next.
    this.#done.catch(() => undefined);
    this.#settled = onInterruption(() => rmSync(this.#beside, { force: true }));
  }

  async add(name: string, content: Buffer, modifiedAt: Date): Promise<void> {
    try {
      await this.#write(Buffer.concat([...longName(name), header(name, content.length, modifiedAt)]));
      await this.#write(content);
      await this.#write(Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK));
    } catch (reason) {
      throw this.#failed(reason);
    }
  }

  async close(): Promise<void> {
    try {
      this.#gzip.end(Buffer.alloc(2 * BLOCK));
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
    if (piece.length === 0) return;
    if (this.#gzip.destroyed) await this.#done;
    if (!this.#gzip.write(piece)) await Promise.race([once(this.#gzip, "drain"), this.#done]);
  }

  #failed(reason: unknown): DrawbridgeError {
    this.failed = true;
    return new DrawbridgeError("DB_GATHER", `${this.#path} cannot be written: ${messageOf(reason)}.`, {
      cause: reason,
    });
  }
}

function header(name: string, size: number, modifiedAt: Date, type = "0"): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, offset: number, length: number) =>
    block.write(
      `${Math.max(0, value)
        .toString(8)
        .padStart(length - 1, "0")}\0`,
      offset,
      "latin1",
    );
  block.write(name.slice(0, 100), 0, 100, "utf8");
  octal(0o600, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(Math.floor(modifiedAt.getTime() / 1000), 136, 12);
  block.write("        ", 148, "latin1");
  block.write(type, 156, "latin1");
  block.write("ustar\x0000", 257, "latin1");
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return block;
}

/** Pods have long names: GNU's way of saying them, which every tar reads. */
function longName(name: string): Buffer[] {
  const bytes = Buffer.from(`${name}\0`);
  if (bytes.length <= 100) return [];
  const padding = Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK);
  return [header("././@LongLink", bytes.length, new Date(0), "L"), bytes, padding];
}
