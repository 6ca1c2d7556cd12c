/** The last moments of a connection whose peer still sends. */
import type { Duplex } from "node:stream";

/** A peer that sends more than this after the last answer is not read any further: reading costs more than refusing. */
const LINGER_BYTES = 16 * 1024;
/** How long such a peer has to read the answer. */
const UNREAD_MS = 250;

/**
 * Discards what the peer still sends, up to a time and a number of bytes, then destroys the stream. Closing while bytes
 * are unread resets the connection, so a peer that was given no time might never read the answer.
 */
export function linger(stream: Duplex, ms: number): void {
  let late = destroyAfter(stream, ms);
  stream.once("close", () => clearTimeout(late));
  let discarded = 0;
  const discard = (chunk: Buffer): void => {
    discarded += chunk.length;
    if (discarded <= LINGER_BYTES) return;
    stream.off("data", discard);
    stream.pause();
    clearTimeout(late);
    late = destroyAfter(stream, Math.min(ms, UNREAD_MS));
  };
  stream.on("data", discard);
  stream.resume();
}

function destroyAfter(stream: Duplex, ms: number): NodeJS.Timeout {
  return setTimeout(() => stream.destroy(), ms).unref();
}
