import { table } from "../../bench/results/format.js";
import type { SoakOptions } from "../options.js";
import {
  byCount,
  clientsOf,
  type Machine,
  type ProcessReport,
  processReports,
  rounded,
  thisMachine,
} from "../report/report.js";
import { processTable } from "../report/text.js";
import type { KillsOutcome } from "./run.js";

/** The result, as JSON and as what the text is made of. */
export interface KillsReport {
  readonly passed: boolean;
  readonly violation?: { readonly seconds: number; readonly what: string };
  readonly seed: string;
  readonly minutes: number;
  readonly machine: Machine;
  readonly clients: readonly string[];
  readonly kills: Readonly<Record<string, number>>;
  readonly streams: number;
  readonly dialsFailed: number;
  /** By frontend. */
  readonly ends: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly gigabytes: { readonly up: number; readonly down: number };
  readonly worstGapSeconds: number;
  readonly warnings: Readonly<Record<string, number>>;
  readonly processes: readonly ProcessReport[];
}

export function killsReport({ seed }: SoakOptions, outcome: KillsOutcome): KillsReport {
  const { violation, tally, outcomes } = outcome;
  return {
    passed: violation === undefined,
    ...(violation ? { violation: { seconds: rounded(violation.seconds, 1), what: violation.what } } : {}),
    seed,
    minutes: rounded(outcome.seconds / 60, 1),
    machine: thisMachine(),
    clients: clientsOf(outcome.withGo, true),
    kills: byCount(tally.faults),
    streams: tally.errandCount,
    dialsFailed: tally.failedDials,
    ends: Object.fromEntries([...outcomes.counts].map(([name, row]) => [name, byCount(row)])),
    gigabytes: { up: rounded(tally.bytesUp / 1e9, 2), down: rounded(tally.bytesDown / 1e9, 2) },
    worstGapSeconds: rounded(outcome.worstGapSeconds, 2),
    warnings: byCount(outcome.warnings),
    processes: outcome.pairs.flatMap(({ census, starts, mortal }) =>
      processReports(census, starts, (name) => !name.startsWith(mortal)),
    ),
  };
}

const FRONTENDS = ["connect", "connect-tls", "grpc", "grpc-go"];

export function killsText(report: KillsReport): string {
  const { machine, violation, gigabytes } = report;
  const number = (value: number) => value.toLocaleString("en-US");
  const sum = (record: Readonly<Record<string, number>>) => Object.values(record).reduce((all, each) => all + each, 0);
  const verdict = violation
    ? `**FAILED** after ${violation.seconds} s: ${violation.what}`
    : "**Passed**: every stream was whole at both ends, or its cut was told wherever it can be told.";
  const facts = table(
    ["What", "Figure"],
    [
      ["seed", report.seed],
      ["minutes", String(report.minutes)],
      ["machine", `${machine.cores} cores, Linux ${machine.kernel}, Node ${machine.node}`],
      ["kills", number(sum(report.kills))],
      ["streams", number(report.streams)],
      ["dials failed while a process was away", number(report.dialsFailed)],
      ["gigabytes checked, up and down", `${gigabytes.up} and ${gigabytes.down}`],
      ["longest standstill with a clear path", `${report.worstGapSeconds} s`],
    ],
  );
  const kills = table(
    ["Kill", "Times"],
    Object.entries(report.kills).map(([name, count]) => [name, number(count)]),
  );
  const ends = table(
    ["Ends of a stream", "all", "CONNECT, Unix socket", "CONNECT, TLS", "gRPC, our client", "gRPC, upstream's client"],
    Object.entries(report.ends).map(([name, row]) => [
      name,
      number(sum(row)),
      ...FRONTENDS.map((frontend) => number(row[frontend] ?? 0)),
    ]),
  );
  return `${[verdict, facts, ends, kills, processTable(report.processes)].join("\n\n")}\n`;
}
