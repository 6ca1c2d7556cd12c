/** Time as the tunnel sees it, so that tests need not wait. */
export interface Clock {
  /** Milliseconds that only ever grow. */
  now(): number;
  /** Calls back once after `ms`, without keeping the process alive; returns a function that takes it back. */
  after(ms: number, action: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, action) {
    const timer = setTimeout(action, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
