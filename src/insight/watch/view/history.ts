/** What the charts draw: rates over the last minutes, from totals that were sampled once a second. */
import type { HistoryInfo, Overview, Totals } from "../../observe/admin/contract.js";

const KEPT_SECONDS = 600;

interface Sample {
  /** Seconds since 1970. */
  readonly at: number;
  readonly toTarget: number;
  readonly fromTarget: number;
  readonly tunnels: number;
}

export type Columns = ReturnType<typeof columnsOf>;

export interface Rates {
  readonly toTarget: number;
  readonly fromTarget: number;
  readonly dials: number;
  readonly failures: number;
  /** `null` where there was nothing to average. */
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
    const seconds = secondsBetween(last.totals, totals, now - last.at);
    if (seconds <= 0) return;
    this.rates = between(last.totals, totals, seconds);
    const { toTarget, fromTarget } = this.rates;
    const at = now / 1000;
    // The tab may have slept, and the reader's clock may have been set back.
    const kept = this.#samples.filter((sample) => sample.at > at - KEPT_SECONDS && sample.at < at);
    this.#samples = [...kept, { at, toTarget, fromTarget, tunnels: totals.tunnelsOpen }];
    this.columns = columnsOf(this.#samples);
  }
}

/** As charts want them. */
function columnsOf(samples: readonly Sample[]) {
  return {
    at: samples.map(({ at }) => at),
    toTarget: samples.map(({ toTarget }) => toTarget),
    fromTarget: samples.map(({ fromTarget }) => fromTarget),
    tunnels: samples.map(({ tunnels }) => tunnels),
  };
}

/** The steps at the end, whose bytes the process has not counted yet. */
const UNFINISHED = 2;

/** What was sampled here, and where that is missing what the process itself remembers, from its first sign of life on. */
export function withPast(columns: Columns, past: HistoryInfo | undefined, clockSkewMs: number): Columns {
  if (past === undefined) return columns;
  const { stepMs, fromAt, total } = past;
  const seconds = stepMs / 1000;
  const sampled = new Set(columns.at.map((at) => Math.floor((at * 1000 - clockSkewMs - fromAt) / stepMs)));
  const { dials, kibToTarget, kibFromTarget, tunnels } = total;
  const first = dials.findIndex((_, at) => dials[at]! + kibToTarget[at]! + kibFromTarget[at]! + tunnels[at]! > 0);
  const steps = dials
    .map((_, step): Sample & { step: number } => ({
      step,
      at: (fromAt + (step + 1) * stepMs + clockSkewMs) / 1000,
      toTarget: (kibToTarget[step]! * 1024) / seconds,
      fromTarget: (kibFromTarget[step]! * 1024) / seconds,
      tunnels: tunnels[step]!,
    }))
    .slice(0, -UNFINISHED)
    .filter(({ step }) => first >= 0 && step >= first && !sampled.has(step));
  const here = columns.at.map((at, index) => ({
    at,
    toTarget: columns.toTarget[index]!,
    fromTarget: columns.fromTarget[index]!,
    tunnels: columns.tunnels[index]!,
  }));
  return columnsOf([...steps, ...here].sort((one, other) => one.at - other.at));
}

/**
 * News come twice a second, so that one, two or three of them are in a second of the reader's: what they tell of was
 * counted between their own times. Only after a silence, in which nothing changed, the reader's clock knows better.
 */
export function secondsBetween(before: Pick<Totals, "at">, after: Pick<Totals, "at">, elapsedMs: number): number {
  const ms = after.at - before.at;
  if (ms <= 0) return elapsedMs / 1000;
  return Math.min(Math.max(ms, elapsedMs / 2), elapsedMs * 2) / 1000;
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
