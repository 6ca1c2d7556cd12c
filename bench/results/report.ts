import type { DataCentre } from "../data-centre.js";
import type { Measured } from "../rounds.js";
import { rivalsOf } from "../rows/row.js";
import { type Incident, incidentsOf } from "./binding.js";
import type { Machine } from "./machine.js";
import { ratioOf, spreadOf, type Verdict, verdictsOf } from "./verdicts.js";

export interface Report {
  readonly machine: Machine;
  readonly rounds: number;
  readonly seconds: number;
  readonly minutes: number;
  readonly measured: Measured;
  readonly dataCentre?: DataCentre;
  readonly verdicts: readonly Verdict[];
  readonly incidents: readonly Incident[];
}

export type Facts = Pick<Report, "machine" | "rounds" | "seconds" | "minutes" | "measured" | "dataCentre">;

export const makeReport = (facts: Facts): Report => ({
  ...facts,
  verdicts: verdictsOf(facts.measured),
  incidents: incidentsOf(facts.measured),
});

export function toJson({ machine, rounds, seconds, minutes, measured, dataCentre, ...judged }: Report): string {
  const { verdicts, incidents } = judged;
  const rows = [...measured].map(([row, contenders]) => ({
    name: row.name,
    about: row.about,
    frontend: row.frontend,
    metrics: row.metrics,
    contenders: Object.fromEntries(
      [...contenders].map(([name, runs]) => [
        name,
        {
          rounds: runs.map((run) => run?.values ?? null),
          spread: Object.fromEntries(row.metrics.map(({ key }) => [key, spreadOf(measured, row, name, key) ?? null])),
          ...(name === rivalsOf(row).theirs || !contenders.has(rivalsOf(row).theirs)
            ? {}
            : {
                ratio: Object.fromEntries(
                  row.metrics.map(({ key }) => [key, ratioOf(measured, row, name, key) ?? null]),
                ),
              }),
        },
      ]),
    ),
  }));
  const bars = verdicts.map(({ row, bar, got, met }) => ({ row: row.name, ...bar, got: got ?? null, met }));
  const report = { machine, rounds, seconds, minutes, bars, incidents, rows, ...(dataCentre && { dataCentre }) };
  return `${JSON.stringify(report, plainNumber, 2)}\n`;
}

/** Four digits are more than any run is worth; what never ended has no number in JSON. */
export function plainNumber(_key: string, value: unknown): unknown {
  if (typeof value !== "number") return value;
  return Number.isFinite(value) ? Number(value.toPrecision(4)) : "frozen";
}
