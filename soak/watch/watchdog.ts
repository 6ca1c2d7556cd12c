import type { Court } from "./court.js";
import type { Impacts, Path } from "./impacts.js";

/** One thing that has to move on. */
export interface Wait {
  /** It did. */
  moved(): void;
  /** It need not for a while, by its own party's choice. */
  hold(): void;
  release(): void;
  done(): void;
}

/** Whose it is, for the sentence when it is stuck. */
export interface Waiter {
  readonly path: Path;
  describe(): string;
}

interface Entry {
  readonly waiter: Waiter;
  readonly what: string;
  readonly withinMs: number;
  movedAt: number;
  held: boolean;
}

export const PROGRESS_WITHIN_MS = 10_000;
const TICK_MS = 250;
/** A tick that comes so late means that this very process, or the whole machine, stood still. */
const LAG_MS = 1_000;

/** Sees to it that everything moves whose path is clear of faults. */
export class Watchdog {
  /** The longest that anything stood still while nothing touched its path. */
  worstGapMs = 0;
  readonly #court: Court;
  readonly #impacts: Impacts;
  readonly #entries = new Set<Entry>();
  readonly #timer: NodeJS.Timeout;
  #lastTick = performance.now();

  constructor(court: Court, impacts: Impacts) {
    this.#court = court;
    this.#impacts = impacts;
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  begin(waiter: Waiter, what: string, withinMs = PROGRESS_WITHIN_MS): Wait {
    const entry: Entry = { waiter, what, withinMs, movedAt: performance.now(), held: false };
    this.#entries.add(entry);
    return {
      moved: () => this.#moved(entry),
      hold: () => {
        entry.held = true;
      },
      release: () => {
        entry.held = false;
        entry.movedAt = performance.now();
      },
      done: () => {
        if (!this.#entries.delete(entry)) return;
        this.#moved(entry);
      },
    };
  }

  /** What is being waited for now, for people. */
  describe(): string[] {
    const now = performance.now();
    return [...this.#entries].map(
      ({ waiter, what, movedAt, held }) =>
        `${what}: ${held ? "held" : `${Math.round(now - movedAt)} ms`} ${waiter.describe()}`,
    );
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #moved(entry: Entry): void {
    const now = performance.now();
    const gap = now - entry.movedAt;
    // What may take longer by its nature says nothing here.
    const usual = entry.withinMs <= PROGRESS_WITHIN_MS;
    if (
      usual &&
      !entry.held &&
      gap > this.worstGapMs &&
      !this.#impacts.touched(entry.waiter.path, entry.movedAt, now)
    ) {
      this.worstGapMs = gap;
    }
    entry.movedAt = now;
  }

  #tick(): void {
    const now = performance.now();
    const late = now - this.#lastTick - TICK_MS;
    if (late > LAG_MS) this.#impacts.end(this.#impacts.begin("the soak itself stood still", "delay", {}, now - late));
    this.#lastTick = now;
    for (const entry of this.#entries) {
      if (entry.held || now - entry.movedAt < entry.withinMs) continue;
      const clear = this.#impacts.clearSince(entry.waiter.path, entry.movedAt);
      if (clear === undefined || now - clear < entry.withinMs) continue;
      const seconds = ((now - clear) / 1000).toFixed(1);
      this.#court.violation(
        `stuck: ${entry.what} did not move for ${seconds} s with a clear path: ${entry.waiter.describe()}`,
      );
    }
  }
}
