/** The last moments of a connection whose peer still sends. */
import type { Duplex } from "node:stream";

/** A peer that sends more than this after the last answer is not read any further. */
const LINGER_BYTES = 128 * 1024;

/**
 * Discards what the peer still sends, up to a time and a number of bytes, then destroys the stream. Closing while bytes
 * are unread would reset the connection, and the peer might never read the answer.
 */
export function linger(stream: Duplex, ms: number): void {
  const late = setTimeout(() => stream.destroy(), ms).unref();
  stream.once("close", () => clearTimeout(late));
  let discarded = 0;
  stream.on("data", (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > LINGER_BYTES) stream.destroy();
  });
  stream.resume();
}
