/** Who asked for a payload, as it is remembered: the trail an auditor reads, and what a CSR is held against. */

export interface ServedFetch {
  readonly at: number;
  readonly remote: string;
  readonly pool: string;
  readonly secret: string;
  readonly worker?: string | undefined;
  /** What the machine claims of itself; it decides nothing, but HyperShift marks the Secret by it. */
  readonly claimed: Claimed;
}

export interface Claimed {
  readonly pool?: string | undefined;
  readonly targetConfigVersion?: string | undefined;
}

export interface RefusedFetch {
  readonly at: number;
  readonly remote: string;
  readonly why: "Bad header" | "Token invalid" | "Token not found in cache";
  readonly claimed: Claimed;
}

export interface FetchRecorder {
  served(fetch: ServedFetch): void;
  /** At most `REFUSALS_A_MINUTE` for an address and `ALL_REFUSALS_A_MINUTE` for all of them: strangers must not fill logs or make events in our name. */
  refused(fetch: RefusedFetch): void;
}

const REFUSALS_A_MINUTE = 20;
/** Whatever the number of addresses that strangers have. */
const ALL_REFUSALS_A_MINUTE = 1_000;
const MINUTE_MS = 60_000;
/** Addresses remembered at once; beyond that the oldest is forgotten. */
const MAX_ADDRESSES = 10_000;

/** Decides which refusals are worth a record. The answer to the machine is the same in both cases. */
export class RefusalLimit {
  readonly #seen = new Map<string, { count: number; since: number }>();
  #all = { count: 0, since: Number.NEGATIVE_INFINITY };

  /** `now`: by a clock that nobody sets. */
  allows(remote: string, now: number): boolean {
    let seen = this.#seen.get(remote);
    if (seen === undefined || now - seen.since >= MINUTE_MS) {
      seen = { count: 0, since: now };
      this.#seen.delete(remote);
      if (this.#seen.size >= MAX_ADDRESSES) this.#seen.delete(this.#seen.keys().next().value!);
      this.#seen.set(remote, seen);
    }
    if (now - this.#all.since >= MINUTE_MS) this.#all = { count: 0, since: now };
    return ++seen.count <= REFUSALS_A_MINUTE && ++this.#all.count <= ALL_REFUSALS_A_MINUTE;
  }
}
