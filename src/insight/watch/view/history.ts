/** What the charts draw: rates over the last minutes, from totals that were sampled once a second. */
import type { Totals } from "../../observe/admin/contract.js";

const KEPT_SECONDS = 600;

/** Columns, as the chart wants them; the first is seconds since 1970. `null` where there was nothing to average. */
export interface Columns {
  readonly at: readonly number[];
  readonly toTarget: readonly number[];
  readonly fromTarget: readonly number[];
  readonly dialMs: readonly (number | null)[];
  readonly tunnels: readonly number[];
}

export interface Rates {
  readonly toTarget: number;
  readonly fromTarget: number;
  readonly dials: number;
  readonly failures: number;
  readonly dialMs: number | null;
}

export const NO_RATES: Rates = { toTarget: 0, fromTarget: 0, dials: 0, failures: 0, dialMs: null };

export class History {
  rates: Rates = NO_RATES;
  #columns: Columns = { at: [], toTarget: [], fromTarget: [], dialMs: [], tunnels: [] };
  #last: { readonly totals: Totals; readonly at: number } | undefined;

  get columns(): Columns {
    return this.#columns;
  }

  /** Another process, whose totals have nothing to do with those before. */
  begin(totals: Totals, now: number): void {
    this.#last = { totals, at: now };
    this.rates = NO_RATES;
  }

  /** `now` is the reader's clock, because no totals come while nothing changes. */
  sample(totals: Totals, now: number): void {
    const last = this.#last;
    this.#last = { totals, at: now };
    // A process that was started again counts from zero.
    if (last === undefined || totals.dialsEstablished < last.totals.dialsEstablished) return;
    const seconds = (now - last.at) / 1000;
    if (seconds <= 0) return;
    this.rates = between(last.totals, totals, seconds);
    const { toTarget, fromTarget, dialMs } = this.rates;
    const { columns } = this;
    const at = now / 1000;
    // The tab may have slept, and the reader's clock may have been set back.
    const kept = columns.at.map((then) => then > at - KEPT_SECONDS && then < at);
    this.#columns = {
      at: append(columns.at, kept, at),
      toTarget: append(columns.toTarget, kept, toTarget),
      fromTarget: append(columns.fromTarget, kept, fromTarget),
      dialMs: append(columns.dialMs, kept, dialMs),
      tunnels: append(columns.tunnels, kept, totals.tunnelsOpen),
    };
  }
}

function between(before: Totals, after: Totals, seconds: number): Rates {
  const dials = after.dialsEstablished - before.dialsEstablished;
  return {
    toTarget: Math.max(0, after.bytesToTarget - before.bytesToTarget) / seconds,
    fromTarget: Math.max(0, after.bytesFromTarget - before.bytesFromTarget) / seconds,
    dials: dials / seconds,
    failures: Math.max(0, after.dialsFailed - before.dialsFailed) / seconds,
    dialMs: dials === 0 ? null : (after.dialMsSum - before.dialMsSum) / dials,
  };
}

function append<Value>(column: readonly Value[], kept: readonly boolean[], value: Value): Value[] {
  const next = column.filter((_, index) => kept[index]);
  next.push(value);
  return next;
}
