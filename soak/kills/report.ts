import { number, table } from "../../bench/results/format.js";
import type { SoakOptions } from "../options.js";
import { byCount, factLines, type LoadFacts, loadFacts, trafficLines, verdictText } from "../report/facts.js";
import { type ProcessReport, processReports } from "../report/report.js";
import { processTable } from "../report/text.js";
import type { KillsOutcome } from "./run.js";

/** The result, as JSON and as what the text is made of. */
export interface KillsReport extends LoadFacts {
  readonly kills: Readonly<Record<string, number>>;
  readonly streams: number;
  readonly dialsFailed: number;
  /** By frontend. */
  readonly ends: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly processes: readonly ProcessReport[];
}

export function killsReport({ seed }: SoakOptions, outcome: KillsOutcome): KillsReport {
  const { tally, outcomes } = outcome;
  return {
    ...loadFacts(seed, outcome, true),
    kills: byCount(tally.faults),
    streams: tally.errandCount,
    dialsFailed: tally.failedDials,
    ends: Object.fromEntries([...outcomes.counts].map(([name, row]) => [name, byCount(row)])),
    processes: outcome.pairs.flatMap(({ census, starts, mortal }) =>
      processReports(census, starts, (name) => !name.startsWith(mortal)),
    ),
  };
}

const FRONTENDS = ["connect", "connect-tls", "grpc", "grpc-go"];

export function killsText(report: KillsReport): string {
  const sum = (record: Readonly<Record<string, number>>) => Object.values(record).reduce((all, each) => all + each, 0);
  const verdict = verdictText(
    report,
    "every stream was whole at both ends, or its cut was told wherever it can be told.",
  );
  const facts = table(
    ["What", "Figure"],
    [
      ...factLines(report),
      ["kills", number(sum(report.kills))],
      ["streams", number(report.streams)],
      ["dials failed while a process was away", number(report.dialsFailed)],
      ...trafficLines(report),
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
