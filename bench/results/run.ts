import type { DataCentre } from "../data-centre.js";
import type { Measured } from "../rounds.js";
import { type Incident, incidentsOf } from "./binding.js";
import type { Machine } from "./machine.js";

/** When, how often and how long was measured. */
export interface RunFacts {
  /** The day on which it began. */
  readonly date: string;
  readonly rounds: number;
  readonly seconds: number;
}

/** What a run has found: the page is written from it, with the bars of today. */
export interface BenchRun extends RunFacts {
  readonly machine: Machine;
  readonly minutes: number;
  /** By row and contender, the values of each round; null for a round that failed. */
  readonly rows: Readonly<Record<string, RowValues>>;
  readonly incidents: readonly Incident[];
  readonly dataCentre?: DataCentre;
  /** By row, for those that a later run of chosen rows has measured again. */
  readonly later?: Readonly<Record<string, RunFacts & { readonly loadBefore: number }>>;
}

export type RowValues = Readonly<Record<string, readonly (Readonly<Record<string, number>> | null)[]>>;

export function makeRun(
  facts: Pick<BenchRun, keyof RunFacts | "machine" | "minutes" | "dataCentre">,
  measured: Measured,
): BenchRun {
  const rows = [...measured].map(([row, contenders]) => [
    row.name,
    Object.fromEntries([...contenders].map(([name, runs]) => [name, runs.map((run) => run?.values ?? null)])),
  ]);
  return { ...facts, rows: Object.fromEntries(rows), incidents: incidentsOf(measured) };
}

/**
 * The last run of each model of processor, the newest first. A run of chosen rows replaces only those in the last whole
 * run on the same model.
 */
export function withRun(runs: readonly BenchRun[], run: BenchRun, isWhole: boolean): BenchRun[] {
  const last = runs.find(({ machine }) => machine.processor === run.machine.processor);
  const others = runs.filter((each) => each !== last);
  return [last === undefined || isWhole ? run : withRows(last, run), ...others];
}

function withRows(last: BenchRun, { machine, date, rounds, seconds, ...run }: BenchRun): BenchRun {
  const facts = { date, rounds, seconds, loadBefore: machine.loadBefore };
  const later = Object.fromEntries(Object.keys(run.rows).map((name) => [name, facts]));
  return {
    ...last,
    rows: { ...last.rows, ...run.rows },
    incidents: [...last.incidents.filter(({ row }) => !(row in run.rows)), ...run.incidents],
    ...(run.dataCentre && { dataCentre: run.dataCentre }),
    later: { ...last.later, ...later },
  };
}
