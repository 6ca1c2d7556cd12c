import { cpus, release } from "node:os";
import type { Violation } from "../watch/court.js";
import type { Tally } from "../watch/tally.js";

/** What every kind of run says about itself. */
export interface RunFacts {
  readonly passed: boolean;
  readonly violation?: Violation;
  readonly seed: string;
  readonly minutes: number;
  readonly machine: { readonly cores: number; readonly kernel: string; readonly node: string };
}

interface Ended {
  readonly violation: Violation | undefined;
  readonly seconds: number;
}

export const factsOf = (seed: string, { violation, seconds }: Ended): RunFacts => ({
  passed: violation === undefined,
  ...(violation ? { violation: { seconds: rounded(violation.seconds, 1), what: violation.what } } : {}),
  seed,
  minutes: rounded(seconds / 60, 1),
  machine: { cores: cpus().length, kernel: release(), node: process.version },
});

/** `passed` is what the run has shown when nothing was violated. */
export const verdictText = ({ violation }: RunFacts, passed: string): string =>
  violation ? `**FAILED** after ${violation.seconds} s: ${violation.what}` : `**Passed**: ${passed}`;

/** The first lines of its table of figures. */
export const factLines = ({ seed, minutes, machine }: RunFacts): string[][] => [
  ["seed", seed],
  ["minutes", String(minutes)],
  ["machine", `${machine.cores} cores, Linux ${machine.kernel}, Node ${machine.node}`],
];

/** What a run with checked bytes says besides. */
export interface LoadFacts extends RunFacts {
  readonly clients: readonly string[];
  readonly gigabytes: { readonly up: number; readonly down: number };
  readonly worstGapSeconds: number;
  readonly warnings: Readonly<Record<string, number>>;
}

interface Loaded extends Ended {
  readonly tally: Tally;
  readonly worstGapSeconds: number;
  readonly warnings: ReadonlyMap<string, number>;
  readonly withGo: boolean;
}

export const loadFacts = (seed: string, outcome: Loaded, withTls = false): LoadFacts => ({
  ...factsOf(seed, outcome),
  clients: [
    "CONNECT",
    ...(withTls ? ["CONNECT over TLS"] : []),
    "gRPC, drawbridge's client",
    ...(outcome.withGo ? ["gRPC, upstream's client"] : []),
  ],
  gigabytes: { up: rounded(outcome.tally.bytesUp / 1e9, 2), down: rounded(outcome.tally.bytesDown / 1e9, 2) },
  worstGapSeconds: rounded(outcome.worstGapSeconds, 2),
  warnings: byCount(outcome.warnings),
});

export const trafficLines = ({ gigabytes, worstGapSeconds }: LoadFacts): string[][] => [
  ["gigabytes checked, up and down", `${gigabytes.up} and ${gigabytes.down}`],
  ["longest standstill with a clear path", `${worstGapSeconds} s`],
];

export const byCount = (counts: ReadonlyMap<string, number>): Record<string, number> =>
  Object.fromEntries([...counts].sort(([, a], [, b]) => b - a));

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));
