import { createCipheriv, createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { within } from "../processes/deadline.js";

/** Bytes that look random and are the same for the same seed: an error in order, place or content shows. */
export function payload(seed: string, size: number): Buffer {
  const key = createHash("sha256").update(seed).digest().subarray(0, 16);
  return createCipheriv("aes-128-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(size));
}

export function sha256(...parts: Uint8Array[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}

/** How a stream ended and all it gave before. A reset is an end like any other here: callers assert on what they need. */
export interface Ending {
  readonly bytes: Buffer;
  readonly error?: Error;
}

/** Reads to the end, whatever kind of end it is. */
export function readToEnd(stream: Readable, withinMs = 20_000): Promise<Ending> {
  const chunks: Buffer[] = [];
  let ended = false;
  const ending = new Promise<Ending>((resolve) => {
    const finish = (error?: Error) => {
      if (ended) return;
      ended = true;
      resolve({ bytes: Buffer.concat(chunks), ...(error ? { error } : {}) });
    };
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.once("end", () => finish());
    stream.once("error", finish);
    stream.once("close", () => finish());
    stream.resume();
    if (stream.destroyed || stream.readableEnded) finish();
  });
  return within(withinMs, "the stream to end", ending);
}

/** Exactly `size` bytes; what came beyond them is put back. An end before that is an error. */
export async function readExactly(stream: Readable, size: number, withinMs = 20_000): Promise<Buffer> {
  return readUntil(stream, (bytes) => (bytes.length >= size ? size : -1), `${size} bytes`, withinMs);
}

/** Up to and including the first newline, without it. */
export async function readLine(stream: Readable, withinMs = 20_000): Promise<string> {
  const line = await readUntil(stream, (bytes) => bytes.indexOf("\n") + 1 || -1, "a line", withinMs);
  return line.subarray(0, -1).toString("utf8");
}

/** Reads until `cut` finds where the wanted part ends (its length, or -1 for "not yet"). */
export function readUntil(
  stream: Readable,
  cut: (bytes: Buffer) => number,
  what: string,
  withinMs = 20_000,
): Promise<Buffer> {
  let bytes: Buffer = Buffer.alloc(0);
  let stop = () => {};
  const wanted = new Promise<Buffer>((resolve, reject) => {
    const onData = (chunk: Buffer) => {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      const length = cut(bytes);
      if (length < 0) return;
      stop();
      stream.pause();
      if (length < bytes.length) stream.unshift(bytes.subarray(length));
      resolve(bytes.subarray(0, length));
    };
    const onEnd = () => {
      stop();
      reject(new Error(`the stream ended after ${bytes.length} bytes, before ${what}: ${bytes.subarray(0, 200)}`));
    };
    const onError = (reason: Error) => {
      stop();
      reject(new Error(`the stream failed after ${bytes.length} bytes, before ${what}: ${reason.message}`));
    };
    stop = () => stream.off("data", onData).off("end", onEnd).off("close", onEnd).off("error", onError);
    stream.on("data", onData).once("end", onEnd).once("close", onEnd).once("error", onError);
    stream.resume();
  });
  return within(withinMs, `${what} (${bytes.length} bytes so far)`, wanted).finally(() => stop());
}
