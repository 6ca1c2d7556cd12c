/** Time as the code sees it, so that tests need not wait. */
export interface Clock {
  /** Milliseconds that only ever grow: for durations and deadlines. */
  now(): number;
  /** Milliseconds since 1970: for what others are shown. It may step when the host's clock is set. */
  date(): number;
  /**
   * Calls back once after `ms`; the returned function cancels it. Only with `keepsAlive` does the process wait for it
   * when nothing else is left to do.
   */
  after(ms: number, action: () => void, keepsAlive?: boolean): () => void;
}

// As they are when the process begins: a test that replaces the global ones means the code it tests, not every clock.
const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis;

export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => Date.now(),
  after(ms, action, keepsAlive = false) {
    const timer = startTimer(action, ms);
    if (!keepsAlive) timer.unref();
    return () => stopTimer(timer);
  },
};

/** As AbortSignal.timeout, by the clock, and with a timer that is to be cancelled. */
export function deadlineIn(clock: Clock, ms: number): { readonly signal: AbortSignal; cancel(): void } {
  const late = new AbortController();
  const cancel = clock.after(ms, () => late.abort(new DOMException("the time is over", "TimeoutError")));
  return { signal: late.signal, cancel };
}

/** Waits, at most until the signal fires, and keeps the process alive meanwhile. It never rejects: loops check the signal. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.after(ms, done, true);
    signal?.addEventListener("abort", done);
  });
}
