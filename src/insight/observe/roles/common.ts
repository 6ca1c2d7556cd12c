/** What several roles need to describe themselves. */

/** The totals of a role that carries nothing. */
export const NO_TRAFFIC = {
  ...{ bytesToTarget: 0, bytesFromTarget: 0, tunnelsOpen: 0, queuedBytes: 0 },
  ...{ dialsPending: 0, dialsEstablished: 0, dialsFailed: 0, dialMsSum: 0 },
};

/** Dials of one process, counted as they end. */
export class DialCounts {
  #established = 0;
  #failed = 0;
  /** Of the established ones. */
  #msSum = 0;

  count(established: boolean, ms: number): void {
    if (established) {
      this.#established++;
      this.#msSum += ms;
    } else this.#failed++;
  }

  get totals() {
    return { dialsEstablished: this.#established, dialsFailed: this.#failed, dialMsSum: Math.round(this.#msSum) };
  }
}

/** Milliseconds, rounded to hundredths. */
export const hundredths = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : Math.round(ms * 100) / 100;

/** The same value for the same key, made when it is first asked for and forgotten with the key. */
export function onceEach<Key extends object, Made extends object>(make: (key: Key) => Made): (key: Key) => Made {
  const made = new WeakMap<Key, Made>();
  return (key) => {
    const value = made.get(key) ?? make(key);
    made.set(key, value);
    return value;
  };
}
