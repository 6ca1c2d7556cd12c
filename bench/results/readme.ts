/** README's table beside upstream, from the newest run. */
import { allRows } from "../rows/index.js";
import type { Row } from "../rows/row.js";
import { number, table } from "./format.js";
import type { BenchRun } from "./run.js";
import { ratioOf, spreadOf } from "./verdicts.js";

interface Claim {
  readonly text: string;
  readonly row: string;
  readonly metric: string;
  readonly better: "more" | "less";
}

const CLAIMS: readonly Claim[] = [
  claim("throughput of 8 downloads at once", "bulk-down-8", "rate", "more"),
  claim("throughput of 8 uploads at once", "bulk-up-8", "rate", "more"),
  claim("processor time for each byte of those downloads", "bulk-down-8", "cpuPerGB", "less"),
  claim("processor time for each byte of those uploads", "bulk-up-8", "cpuPerGB", "less"),
  claim("small requests a second, 64 callers", "ping-pong-64", "rate", "more"),
  claim("small requests a second, 64 callers that use gRPC", "grpc-ping-pong-64", "rate", "more"),
  claim("time of a single small request", "ping-pong-1", "p50", "less"),
  claim("tunnels opened in a second", "new-tunnels", "rate", "more"),
  claim("server's memory with 2,000 idle tunnels", "memory", "heldServer", "less"),
  claim("server's memory without a tunnel", "memory", "idleServer", "less"),
  claim("server's peak memory during 8 downloads", "bulk-down-8", "serverPeakMeanwhile", "less"),
  claim("start of a server until it is healthy", "start", "server", "less"),
];

function claim(text: string, row: string, metric: string, better: Claim["better"]): Claim {
  return { text, row, metric, better };
}

/** Less than that is no difference. */
const MARGIN = 1.05;

/** Whoever is better; bold where that is drawbridge. What the run has not measured is left out. */
export function readmeText(run: BenchRun, rows: readonly Row[] = allRows): string {
  const rowOf = (name: string) => rows.find((row) => row.name === name);
  const lines = CLAIMS.flatMap(({ text, row: name, metric, better }) => {
    const row = rowOf(name);
    const got = row && ratioOf(run, row, "ours/ours", metric)?.median;
    if (row === undefined || got === undefined) return [];
    const values = (["ours/ours", "Go/Go"] as const).map((who) => valueText(run, row, who, metric)).join(" to ");
    const ratio = `${number(got, 2)} ×`;
    const isBetter = (better === "more" ? got : 1 / got) > MARGIN;
    return [[text, isBetter ? `**${ratio}**` : ratio, values, rowLink(name)]];
  });
  const { processor, cores, loadBefore } = run.machine;
  const quiet = loadBefore > 1 ? ` The machine was **not quiet** (load ${number(loadBefore, 1)} before).` : "";
  return [
    table(["", "drawbridge ÷ upstream", "medians", "Row"], [...lines, ...pauseLine(run, rowOf("stalled-reader"))]),
    `On ${processor}, ${cores} cores, ${run.date}.${quiet}\n`,
  ].join("\n\n");
}

function valueText(run: BenchRun, row: Row, who: "ours/ours" | "Go/Go", key: string): string {
  const { unit = "", digits = 0 } = row.metrics.find((metric) => metric.key === key) ?? {};
  return `${number(spreadOf(run, row, who, key)!.median, digits)} ${unit}`;
}

const rowLink = (name: string): string => `[${name}](docs/benchmarks.md#${name})`;

/** Upstream's others get no answer until the caller that does not read leaves. */
function pauseLine(run: BenchRun, row: Row | undefined): string[][] {
  const ours = row && spreadOf(run, row, "ours/ours", "pause");
  const theirs = row && spreadOf(run, row, "Go/Go", "p99");
  if (ours === undefined || theirs === undefined || Number.isFinite(theirs.median)) return [];
  const text = "longest pause of others while one caller does not read";
  return [
    [text, `**${number(ours.median)} ms**`, "with upstream no answer until it leaves", rowLink("stalled-reader")],
  ];
}
