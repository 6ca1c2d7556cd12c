/** How long a page waits for its process. */

const FIRST_RETRY_MS = 1000;
/** A person who watches a restart should not have to reload. */
const LAST_RETRY_MS = 5000;
/** Three times as long as a stream without changes is silent. */
const SILENCE_MS = 45_000;

/** Longer from failure to failure: a page may be left open for days, and there may be many. */
export function retryAfterMs(failures: number): number {
  return Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);
}

/** Whether a stream is to be given up, although nobody ended it. */
export function isSilent(heardAt: number, now: number): boolean {
  return now - heardAt > SILENCE_MS;
}
