import { type ContenderName, isLimit } from "../contenders/contender.js";
import type { DataCentre } from "../data-centre.js";
import type { Measured } from "../rounds.js";
import { type Metric, type Row, rivalsOf } from "../rows/row.js";
import type { Incident } from "./binding.js";
import { heading, number, table, withSpread } from "./format.js";
import { LIMITS_NOTE, METHOD } from "./method.js";
import type { Report } from "./report.js";
import type { Spread } from "./statistics.js";
import { ratioOf, spreadOf, type Verdict } from "./verdicts.js";

export function markdown(report: Report): string {
  const { measured } = report;
  const rows = [...measured.keys()];
  const parts = ["# Benchmarks", METHOD, "## Machine and run", machine(report)];
  if (report.verdicts.length > 0) parts.push("## Bars", bars(report.verdicts), missed(report.verdicts));
  parts.push("## What binds whatever the speed", incidents(report.incidents));
  const plain = rows.filter((row) => !row.growth);
  if (plain.length > 0) parts.push("## Rows", LIMITS_NOTE, ...plain.map((row) => section(measured, row)));
  const growing = rows.filter((row) => row.growth);
  if (growing.length > 0) parts.push("## How cost grows (one round)", growth(measured, growing));
  if (report.dataCentre) parts.push("## A data centre that is switched on", dataCentreText(report.dataCentre));
  return `${parts.join("\n\n")}\n`;
}

const HALL_NOTE = `2,000 machines ask one \`drawbridge ignition serve\` for their first configuration (300 KB) at once, each over a TLS
connection of its own, and give up as Ignition does: after 10 seconds without a handshake or an answer. The crowd runs on
the same cores as the server (\`bench/ignition-crowd.ts\`).`;

function dataCentreText({ lines, intact }: DataCentre): string {
  const said = lines.map((line) => (line.startsWith("  ") ? `  - ${line.trim()}` : `- ${line}`)).join("\n");
  return `${HALL_NOTE}\n\n${said}${intact ? "" : "\n\n**Not every machine got what it should.**"}`;
}

function machine({ machine: m, rounds, seconds, minutes }: Report): string {
  const quiet = m.loadBefore > 1 ? `; the machine was **not quiet** (load ${number(m.loadBefore, 1)} before)` : "";
  return [
    `- ${m.processor}, ${m.cores} cores, ${m.memoryGiB} GiB, Linux ${m.kernel}`,
    `- drawbridge on Node ${m.node.replace(/^v/, "")}; upstream's server and agent ${m.upstream}`,
    `- ${rounds} round(s), ${seconds} s a run, ${number(minutes, 1)} minutes in all${quiet}`,
  ].join("\n");
}

function bars(verdicts: readonly Verdict[]): string {
  return table(
    ["Row", "Bar for ours", "Got, median (spread)", ""],
    verdicts.map(({ row, bar, got, met }) => {
      const { label = bar.metric, unit = "" } = row.metrics.find(({ key }) => key === bar.metric) ?? {};
      const scale = bar.against === "rival" ? `x ${rivalsOf(row).theirs}` : unit;
      const wanted = `${label} ${bar.rule === "at least" ? "≥" : "≤"} ${bar.value} ${scale}`;
      return [
        row.name,
        wanted,
        got === undefined ? "nothing to compare" : withSpread(got, 2),
        met ? "met" : "**missed**",
      ];
    }),
  );
}

function missed(verdicts: readonly Verdict[]): string {
  const count = verdicts.filter(({ met }) => !met).length;
  return count === 0 ? "All bars are met in the median." : `${count} of ${verdicts.length} bars are missed.`;
}

function incidents(all: readonly Incident[]): string {
  const binding = all.filter((incident) => incident.binding);
  const rest = all.filter((incident) => !incident.binding);
  const verdict =
    binding.length === 0
      ? "Bytes intact in every run; wherever both ends are ours stalls stayed isolated, it served again, and memory stayed within bounds."
      : `**Violated:**\n\n${list(binding)}`;
  return rest.length === 0 ? verdict : `${verdict}\n\nSeen where an end, or both, is upstream's:\n\n${list(rest)}`;
}

/** The same in several rounds is one line. */
function list(all: readonly Incident[]): string {
  const groups = new Map<string, Incident[]>();
  for (const incident of all) {
    const what = `${incident.row}, ${incident.name}: ${incident.fault.kind}`;
    groups.set(what, [...(groups.get(what) ?? []), incident]);
  }
  return [...groups].map(([what, same]) => `- ${what} in ${same.length} run(s): ${same[0]?.fault.text}`).join("\n");
}

function section(measured: Measured, row: Row): string {
  const shown = row.metrics.filter(({ key }) => row.contenders.some((name) => spreadOf(measured, row, name, key)));
  const lines = row.contenders.map((name) => [name, ...figures(measured, row, name, shown)]);
  const { theirs } = rivalsOf(row);
  const compared = row.contenders.filter((name) => !isLimit(name) && name !== theirs);
  const ratios = compared.map((name) => [
    `${name} ÷ ${theirs}`,
    ...shown.map(({ key }) => cell(ratioOf(measured, row, name, key), 2)),
  ]);
  return `### ${row.name}\n\n${row.about} ${frontendName(row)}\n\n${table(["", ...shown.map(heading)], [...lines, ...ratios])}`;
}

/** All rows about the same thing in one table, so that the growth can be read downwards. */
function growth(measured: Measured, rows: readonly Row[]): string {
  const things = [...new Set(rows.map((row) => row.growth?.of))];
  const tables = things.map((thing) => {
    const same = rows.filter((row) => row.growth?.of === thing);
    const { about, metrics, contenders } = same[0]!;
    const lines = contenders.flatMap((name) =>
      same.map((row) => [name, number(row.growth?.count ?? 0, 0), ...figures(measured, row, name, metrics)]),
    );
    return `### ${thing}\n\n${about}\n\n${table(["", `${thing}`, ...metrics.map(heading)], lines)}`;
  });
  return tables.join("\n\n");
}

const figures = (measured: Measured, row: Row, name: ContenderName, metrics: readonly Metric[]): string[] =>
  metrics.map(({ key, digits }) => cell(spreadOf(measured, row, name, key), digits));

const cell = (got: Spread | undefined, digits: number): string => (got === undefined ? "–" : withSpread(got, digits));

const frontendName = ({ frontend }: Row): string => (frontend === "grpc-uds" ? "gRPC over UDS." : "CONNECT over UDS.");
