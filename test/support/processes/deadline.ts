/** Waiting in tests: always on a condition, always with a deadline, and with a sentence when it passes. */

const POLL_MS = 20;
/** A process that starts beside a lab or two shares two cores with them. */
export const START_WITHIN_MS = 60_000;
/** What processes find out by themselves. */
export const NOTICE_WITHIN_MS = 30_000;

/** Resolves when `check` gives a truthy value; a check that throws counts as "not yet" and its reason is shown at the end. */
export async function waitUntil<T>(
  what: string,
  check: () => T | Promise<T>,
  { withinMs = 15_000, context = () => "" }: { withinMs?: number; context?: () => string } = {},
): Promise<NonNullable<T>> {
  const giveUpAt = Date.now() + withinMs;
  let lastReason = "";
  for (;;) {
    try {
      const value = await check();
      if (value) return value;
      lastReason = "";
    } catch (reason) {
      lastReason = `: ${reason instanceof Error ? reason.message : String(reason)}`;
    }
    if (Date.now() >= giveUpAt) throw new Error(`not within ${withinMs} ms: ${what}${lastReason}${context()}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Rejects with a sentence when `promise` takes too long; the promise itself goes on. */
export async function within<T>(withinMs: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${withinMs} ms: ${what}`)), withinMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
