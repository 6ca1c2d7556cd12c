import { cpus, release } from "node:os";
import type { SoakOptions } from "../options.js";
import type { Outcome } from "../run.js";
import type { CensusRow } from "../watch/census.js";
import { residentBound } from "../watch/growth.js";

export interface ProcessReport {
  readonly name: string;
  /** Lived through the whole run. */
  readonly veteran: boolean;
  readonly starts: number;
  /** At each census, the first one after the warm-up. */
  readonly residentMiB: readonly number[];
  readonly residentBoundMiB: number;
  /** Besides those of open tunnels. */
  readonly openFiles: { readonly first: number; readonly last: number };
}

export interface Machine {
  readonly cores: number;
  readonly kernel: string;
  readonly node: string;
}

/** The result, as JSON and as what the text is made of. */
export interface Report {
  readonly passed: boolean;
  readonly violation?: { readonly seconds: number; readonly what: string };
  readonly seed: string;
  readonly minutes: number;
  readonly machine: Machine;
  readonly clients: readonly string[];
  readonly tunnels: { readonly [outcome in "opened" | "completed" | "interrupted" | "dialsFailed"]: number };
  readonly gigabytes: { readonly up: number; readonly down: number };
  readonly worstGapSeconds: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly load: Readonly<Record<string, number>>;
  readonly warnings: Readonly<Record<string, number>>;
  readonly censusAtSeconds: readonly number[];
  readonly processes: readonly ProcessReport[];
}

export function reportOf({ seed }: SoakOptions, outcome: Outcome): Report {
  const { violation, tally, warnings, census } = outcome;
  return {
    passed: violation === undefined,
    ...(violation ? { violation: { seconds: rounded(violation.seconds, 1), what: violation.what } } : {}),
    seed,
    minutes: rounded(outcome.seconds / 60, 1),
    machine: thisMachine(),
    clients: clientsOf(outcome.withGo),
    tunnels: {
      opened: tally.errandCount,
      completed: tally.completed,
      interrupted: tally.interrupted,
      dialsFailed: tally.failedDials,
    },
    gigabytes: { up: rounded(tally.bytesUp / 1e9, 2), down: rounded(tally.bytesDown / 1e9, 2) },
    worstGapSeconds: rounded(outcome.worstGapSeconds, 2),
    faults: byCount(tally.faults),
    load: byCount(tally.jobs),
    warnings: byCount(warnings),
    censusAtSeconds: census.map(({ seconds }) => Math.round(seconds)),
    processes: processesOf(outcome),
  };
}

function processesOf({ census, starts, veterans }: Outcome): ProcessReport[] {
  const veteranNames = [`server-${veterans.server + 1}`, `agent-${veterans.agent + 1}`];
  return processReports(census, starts, (name) => veteranNames.includes(name));
}

/** `isVeteran` says by its name whether a process lived through the whole run. */
export function processReports(
  census: readonly CensusRow[],
  starts: readonly number[],
  isVeteran: (name: string) => boolean,
): ProcessReport[] {
  return (census[0]?.processes ?? []).map(({ name, residentMiB }, index) => {
    const rows = census.map(({ processes }) => processes[index]!);
    const spare = rows.map(({ openFiles, tunnels }) => openFiles - tunnels);
    return {
      name,
      veteran: isVeteran(name),
      starts: starts[index]!,
      residentMiB: rows.map((row) => Math.round(row.residentMiB)),
      residentBoundMiB: Math.round(residentBound(residentMiB)),
      openFiles: { first: spare[0]!, last: spare.at(-1)! },
    };
  });
}

export const thisMachine = (): Machine => ({ cores: cpus().length, kernel: release(), node: process.version });

export const clientsOf = (withGo: boolean, withTls = false): string[] => [
  "CONNECT",
  ...(withTls ? ["CONNECT over TLS"] : []),
  "gRPC, drawbridge's client",
  ...(withGo ? ["gRPC, upstream's client"] : []),
];

export const byCount = (counts: ReadonlyMap<string, number>): Record<string, number> =>
  Object.fromEntries([...counts].sort(([, a], [, b]) => b - a));

export const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));
