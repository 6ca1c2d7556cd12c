/** The last moments of a connection whose peer still sends. */
import type { Duplex } from "node:stream";
import { type Clock, systemClock } from "./clock.js";

/** A peer that sends more than this after the last answer is not read any further: reading costs more than refusing. */
const LINGER_BYTES = 16 * 1024;
/** How long such a peer has to read the answer. */
const UNREAD_MS = 250;

/**
 * Discards what the peer still sends, up to a time and a number of bytes, then destroys the stream. Closing while bytes
 * are unread resets the connection, so a peer that was given no time might never read the answer.
 */
export function linger(stream: Duplex, ms: number, clock: Clock = systemClock): void {
  const destroy = (): void => void stream.destroy();
  let cancel = clock.after(ms, destroy);
  stream.once("close", () => cancel());
  let discarded = 0;
  const discard = (chunk: Buffer): void => {
    discarded += chunk.length;
    if (discarded <= LINGER_BYTES) return;
    stream.off("data", discard);
    stream.pause();
    cancel();
    cancel = clock.after(Math.min(ms, UNREAD_MS), destroy);
  };
  stream.on("data", discard);
  stream.resume();
}
