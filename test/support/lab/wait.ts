import { setTimeout as sleep } from "node:timers/promises";

/**
 * Asks again and again until the answer is neither undefined nor false, or the deadline has passed.
 * A probe that throws counts as "not yet"; its last error is told when time is up.
 */
export async function until<T>(
  what: string,
  deadlineMs: number,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  everyMs = 100,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  let last: unknown;
  for (;;) {
    try {
      const answer = await probe();
      if (answer !== undefined && answer !== false) return answer;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() >= end) throw new Error(timedOut(what, deadlineMs, last), { cause: last });
    await sleep(everyMs);
  }
}

function timedOut(what: string, deadlineMs: number, last: unknown): string {
  const reason = last === undefined ? "" : `; last attempt: ${last instanceof Error ? last.message : String(last)}`;
  return `waited ${deadlineMs / 1000} s for ${what}, which did not come${reason}`;
}
