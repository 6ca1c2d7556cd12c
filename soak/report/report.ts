import type { SoakOptions } from "../options.js";
import type { Outcome } from "../run.js";
import type { CensusRow } from "../watch/census.js";
import { residentBound } from "../watch/growth.js";
import { byCount, type LoadFacts, loadFacts } from "./facts.js";

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

/** The result, as JSON and as what the text is made of. */
export interface Report extends LoadFacts {
  readonly tunnels: { readonly [outcome in "opened" | "completed" | "interrupted" | "dialsFailed"]: number };
  readonly faults: Readonly<Record<string, number>>;
  readonly load: Readonly<Record<string, number>>;
  readonly censusAtSeconds: readonly number[];
  readonly processes: readonly ProcessReport[];
}

export function reportOf({ seed }: SoakOptions, outcome: Outcome): Report {
  const { tally, census } = outcome;
  return {
    ...loadFacts(seed, outcome),
    tunnels: {
      opened: tally.errandCount,
      completed: tally.completed,
      interrupted: tally.interrupted,
      dialsFailed: tally.failedDials,
    },
    faults: byCount(tally.faults),
    load: byCount(tally.jobs),
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
