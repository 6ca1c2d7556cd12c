/** Time as the Kubernetes parts see it, so that tests can turn it by hand. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs once after `ms`; the returned function calls it off. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Waits, at most until the signal fires; never rejects, so loops look at the signal themselves. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal?.addEventListener("abort", done);
  });
}
