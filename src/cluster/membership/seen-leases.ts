import type { Clock } from "../../base/clock.js";
import { type Lease, leasePromise } from "../kube/lease.js";

interface Seen {
  /** When the holder says that it renewed the lease. */
  readonly renewed: string;
  /** When that was seen first, and how long it is good for, by the clock that nobody sets. */
  readonly since: number;
  readonly until: number;
}

/**
 * Judges leases by when this process saw them renewed. The clocks of two hosts may differ, and either may be set: with
 * the holder's time alone, one wrong clock would end the leases of servers that live, or keep those of dead ones.
 */
export class SeenLeases {
  readonly #clock: Clock;
  readonly #seen = new Map<string, Seen>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes note of all leases that there are now. */
  see(leases: Iterable<Lease>): void {
    const now = this.#clock.now();
    const names = new Set<string>();
    for (const lease of leases) {
      const name = nameOf(lease);
      names.add(name);
      const known = this.#seen.get(name);
      const renewed = lease.spec?.renewTime ?? lease.spec?.acquireTime ?? "";
      if (known?.renewed === renewed) continue;
      const { since = 0, durationMs = 0 } = leasePromise(lease) ?? {};
      // Of one that was there before, only its holder's word is known: at worst it counts a duration too long or too short.
      const left = known === undefined ? Math.min(durationMs, since + durationMs - this.#clock.date()) : durationMs;
      this.#seen.set(name, { renewed, since: now, until: now + left });
    }
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name);
  }

  /** Whether its holder counts as alive. */
  isValid(lease: Lease): boolean {
    return this.#clock.now() < (this.#seen.get(nameOf(lease))?.until ?? 0);
  }

  /** Whether nobody renewed it for its whole duration, all of which this process saw. */
  ranOut(lease: Lease): boolean {
    const { since = Number.POSITIVE_INFINITY } = this.#seen.get(nameOf(lease)) ?? {};
    return this.#clock.now() >= since + (leasePromise(lease)?.durationMs ?? 0);
  }
}

function nameOf({ metadata }: Lease): string {
  return metadata?.name ?? "";
}
