import { type ContenderName, isLimit } from "../contenders/contender.js";
import type { DataCentre } from "../data-centre.js";
import { type Aim, type Bar, type Metric, type Row, rivalsOf } from "../rows/row.js";
import type { Incident } from "./binding.js";
import { EXPLANATIONS } from "./explanations.js";
import { heading, number, table, withSpread } from "./format.js";
import { machineText } from "./machine.js";
import { LIMITS_NOTE, METHOD } from "./method.js";
import type { BenchRun, RunFacts } from "./run.js";
import type { Spread } from "./statistics.js";
import { ratioOf, spreadOf, type Verdict, verdictsOf } from "./verdicts.js";

/** docs/benchmarks.md: the last run of each model of processor, side by side. */
export function markdown(runs: readonly BenchRun[], all: readonly Row[], explanations = EXPLANATIONS): string {
  const rows = all.filter(({ name }) => runs.some((run) => name in run.rows));
  const parts = ["# Benchmarks", METHOD, "## Machines and runs", runs.map(runText).join("\n")];
  if (rows.some(({ bars }) => bars.length > 0)) parts.push("## Bars", ...barsText(runs, rows, explanations));
  parts.push(
    "## What binds whatever the speed",
    ofEach(runs, ({ incidents }) => incidentsText(incidents)),
  );
  const plain = rows.filter((row) => !row.growth);
  if (plain.length > 0) parts.push("## Rows", LIMITS_NOTE, ...plain.map((row) => section(runs, row)));
  const growing = rows.filter((row) => row.growth);
  if (growing.length > 0) parts.push("## How cost grows", growth(runs, growing));
  const filled = runs.filter(({ dataCentre }) => dataCentre);
  if (filled.length > 0) {
    const text = ofEach(runs, ({ dataCentre }) => dataCentre && dataCentreText(dataCentre));
    parts.push("## A data centre that is switched on", HALL_NOTE, text);
  }
  return `${parts.join("\n\n")}\n`;
}

const HALL_NOTE = `2,000 machines ask one \`drawbridge ignition serve\` for their first configuration (300 KB) at once, each over a TLS
connection of its own, and give up as Ignition does: after 10 seconds without a handshake or an answer. The crowd runs on
the same cores as the server (\`bench/ignition-crowd.ts\`).`;

/** What there is to say about each run, under the name of its processor where there are several. */
function ofEach(runs: readonly BenchRun[], say: (run: BenchRun) => string | undefined): string {
  const texts = runs.flatMap((run) => {
    const text = say(run);
    return text === undefined ? [] : runs.length === 1 ? text : `**${run.machine.processor}**\n\n${text}`;
  });
  return texts.join("\n\n");
}

function dataCentreText({ lines, intact }: DataCentre): string {
  const said = lines.map((line) => (line.startsWith("  ") ? `  - ${line.trim()}` : `- ${line}`)).join("\n");
  return `${said}${intact ? "" : "\n\n**Not every machine got what it should.**"}`;
}

function runText(run: BenchRun): string {
  const { machine: m, later = {} } = run;
  const lines = Object.entries(later).map(
    ([row, facts]) => `  - \`${row}\` by a later run of its own: ${factsText(facts, facts.loadBefore)}`,
  );
  return [
    `- ${machineText(m)}; upstream's server and agent ${m.upstream}`,
    `  - ${factsText(run, m.loadBefore)}; ${number(run.minutes, 1)} minutes in all`,
    ...lines,
  ].join("\n");
}

function factsText({ date, rounds, seconds }: RunFacts, load: number): string {
  const quiet = load > 1 ? `the machine was **not quiet** (load ${number(load, 1)} before)` : "the machine was quiet";
  return `${date}, ${rounds} round(s), ${seconds} s a run; ${quiet}`;
}

function barsText(runs: readonly BenchRun[], rows: readonly Row[], explanations: typeof EXPLANATIONS): string[] {
  const verdicts = runs.map((run) => verdictsOf(run, rows));
  const judged = rows.flatMap((row) => row.bars.map((bar) => ({ row, bar })));
  const find = (at: number, row: Row, bar: Bar) =>
    verdicts[at]!.find((verdict) => verdict.row === row && verdict.bar === bar);
  const heads = runs.length === 1 ? ["Got, median (spread)"] : runs.map(({ machine }) => machine.processor);
  const lines = judged.map(({ row, bar }) => [
    `[${row.name}](#${row.growth?.of.replaceAll(" ", "-") ?? row.name})`,
    aimText(row, bar, bar),
    bar.goal ? aimText(row, bar, bar.goal) : "",
    ...runs.map((_, at) => verdictText(find(at, row, bar))),
  ]);
  const missed = judged.flatMap(({ row, bar }) => {
    const where = runs.flatMap(({ machine }, at) => {
      const verdict = find(at, row, bar);
      return verdict === undefined || verdict.met ? [] : `${gotText(verdict)} on ${machine.processor}`;
    });
    const why = explanations[`${row.name} ${bar.metric}`] ?? "**not explained yet**";
    return where.length === 0 ? [] : `- ${row.name}, ${labelOf(row, bar)}: ${where.join(", ")}; ${why}`;
  });
  return [
    table(["Row", "Bar for ours", "Goal", ...heads], lines),
    ofEach(runs, (run) => countText(verdicts[runs.indexOf(run)]!)),
    ...(missed.length === 0 ? [] : ["### Why bars are missed", missed.join("\n")]),
  ];
}

const labelOf = (row: Row, { metric }: Bar): string => row.metrics.find(({ key }) => key === metric)?.label ?? metric;

function aimText(row: Row, bar: Bar, { against, value }: Aim): string {
  const unit = row.metrics.find(({ key }) => key === bar.metric)?.unit ?? "";
  const scale = against === "limit" ? unit : `x ${against === "rival" ? rivalsOf(row).theirs : against.row}`;
  const aim = `${bar.rule === "at least" ? "≥" : "≤"} ${value} ${scale}`;
  return bar.value === value && bar.against === against ? `${labelOf(row, bar)} ${aim}` : aim;
}

const gotText = ({ got }: Verdict): string => (got === undefined ? "nothing to compare" : withSpread(got, 2));

function verdictText(verdict: Verdict | undefined): string {
  if (verdict === undefined) return "not measured";
  return `${gotText(verdict)}, ${verdict.met ? (verdict.reached ? "goal reached" : "met") : "**missed**"}`;
}

function countText(verdicts: readonly Verdict[]): string {
  const missed = verdicts.filter(({ met }) => !met).length;
  const goals = verdicts.filter(({ reached }) => reached !== undefined);
  const bars = missed === 0 ? "All bars are met in the median." : `${missed} of ${verdicts.length} bars are missed.`;
  const reached = goals.filter(({ reached }) => reached).length;
  return goals.length === 0 ? bars : `${bars} ${reached} of ${goals.length} goals are reached.`;
}

function incidentsText(all: readonly Incident[]): string {
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

function section(runs: readonly BenchRun[], row: Row): string {
  const text = ofEach(runs, (run) => (row.name in run.rows ? tableOf(run, row) : undefined));
  return `### ${row.name}\n\n${row.about} ${frontendName(row)}\n\n${text}`;
}

function tableOf(run: BenchRun, row: Row): string {
  const shown = row.metrics.filter(({ key }) => row.contenders.some((name) => spreadOf(run, row, name, key)));
  const lines = row.contenders.map((name) => [name, ...figures(run, row, name, shown)]);
  const { theirs } = rivalsOf(row);
  const compared = row.contenders.filter((name) => !isLimit(name) && name !== theirs);
  const ratios = compared.map((name) => [
    `${name} ÷ ${theirs}`,
    ...shown.map(({ key }) => cell(ratioOf(run, row, name, key), 2)),
  ]);
  return table(["", ...shown.map(heading)], [...lines, ...ratios]);
}

/** All rows about the same thing in one table, so that the growth can be read downwards. */
function growth(runs: readonly BenchRun[], rows: readonly Row[]): string {
  const things = [...new Set(rows.map((row) => row.growth?.of))];
  const tables = things.map((thing) => {
    const same = rows.filter((row) => row.growth?.of === thing);
    const { about, metrics, contenders } = same[0]!;
    const text = ofEach(runs, (run) => {
      const measured = same.filter(({ name }) => name in run.rows);
      const lines = contenders.flatMap((name) =>
        measured.map((row) => [name, number(row.growth?.count ?? 0), ...figures(run, row, name, metrics)]),
      );
      return measured.length === 0 ? undefined : table(["", `${thing}`, ...metrics.map(heading)], lines);
    });
    return `### ${thing}\n\n${about}\n\n${text}`;
  });
  return tables.join("\n\n");
}

const figures = (run: BenchRun, row: Row, name: ContenderName, metrics: readonly Metric[]): string[] =>
  metrics.map(({ key, digits }) => cell(spreadOf(run, row, name, key), digits));

const cell = (got: Spread | undefined, digits: number): string => (got === undefined ? "–" : withSpread(got, digits));

const frontendName = ({ frontend }: Row): string => (frontend === "grpc-uds" ? "gRPC over UDS." : "CONNECT over UDS.");
