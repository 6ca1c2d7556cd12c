/** What the charts draw: rates over the last minutes, from totals that were sampled once a second. */
import type { Overview, Totals } from "../../observe/admin/contract.js";

const KEPT_SECONDS = 600;

interface Sample {
  /** Seconds since 1970. */
  readonly at: number;
  readonly toTarget: number;
  readonly fromTarget: number;
  /** `null` where there was nothing to average. */
  readonly dialMs: number | null;
  readonly tunnels: number;
}

export type Columns = ReturnType<typeof columnsOf>;

export interface Rates {
  readonly toTarget: number;
  readonly fromTarget: number;
  readonly dials: number;
  readonly failures: number;
  readonly dialMs: number | null;
}

export class History {
  /** Undefined before there are two samples of one process. */
  rates: Rates | undefined;
  columns = columnsOf([]);
  #samples: readonly Sample[] = [];
  #last: { readonly instance: string; readonly totals: Totals; readonly at: number } | undefined;

  /** `now` is the reader's clock, because no totals come while nothing changes. */
  sample({ process: { instance }, totals }: Pick<Overview, "process" | "totals">, now: number): void {
    const last = this.#last;
    this.#last = { instance, totals, at: now };
    if (last?.instance !== instance) {
      // Another process, whose totals have nothing to do with those before.
      this.rates = undefined;
      return;
    }
    const seconds = (now - last.at) / 1000;
    if (seconds <= 0) return;
    this.rates = between(last.totals, totals, seconds);
    const { toTarget, fromTarget, dialMs } = this.rates;
    const at = now / 1000;
    // The tab may have slept, and the reader's clock may have been set back.
    const kept = this.#samples.filter((sample) => sample.at > at - KEPT_SECONDS && sample.at < at);
    this.#samples = [...kept, { at, toTarget, fromTarget, dialMs, tunnels: totals.tunnelsOpen }];
    this.columns = columnsOf(this.#samples);
  }
}

/** As charts want them. */
function columnsOf(samples: readonly Sample[]) {
  return {
    at: samples.map(({ at }) => at),
    toTarget: samples.map(({ toTarget }) => toTarget),
    fromTarget: samples.map(({ fromTarget }) => fromTarget),
    dialMs: samples.map(({ dialMs }) => dialMs),
    tunnels: samples.map(({ tunnels }) => tunnels),
  };
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
