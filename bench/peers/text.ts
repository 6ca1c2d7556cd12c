import { number, table, withSpread } from "../results/format.js";
import { machineText } from "../results/machine.js";
import type { Metric } from "../rows/row.js";
import {
  type ComparedRow,
  type Comparison,
  type Contender,
  isTunnel,
  OURS,
  type Place,
  placeOf,
  sameKindOf,
  spreadOf,
} from "./comparison.js";
import { INTRO, KIND_NOTE, LEFT_OUT, METHOD, REASONS } from "./method.js";

export const PICTURE = "images/comparison.svg";

/** docs/comparison.md. */
export function comparisonText(comparison: Comparison): string {
  const { rows, contenders } = comparison;
  const parts = [
    "# Side by side with other tunnels",
    INTRO,
    ...quietNote(comparison),
    `![Bars for every row: drawbridge beside ${contenders.length - 1} others; the tables below have the same figures](${PICTURE})`,
    "## At a glance",
    "Medians. **Bold** is the best of the multiplexed reverse tunnels, which are the first columns.",
    glance(comparison),
    ...places(comparison),
    "## What differs in kind",
    KIND_NOTE,
    kinds(contenders),
    "## Machine and run",
    machine(comparison),
    METHOD,
    ...faults(comparison),
    "## Left out",
    [LEFT_OUT, ...comparison.leftOut.map((sentence) => `- ${sentence}`)].join("\n\n"),
    "## Rows",
    ...rows.map((row) => section(row, contenders)),
  ];
  return `${parts.join("\n\n")}\n`;
}

const quietNote = ({ machine: { loadBefore } }: Comparison): string[] =>
  loadBefore > 1
    ? [
        `**The machine was not quiet** (load ${number(loadBefore, 1)} before): these figures show that the run works, no more.`,
      ]
    : [];

/** A row's first metric, and p99 where it has one. */
const glanced = ({ metrics: [first, ...others] }: ComparedRow): Metric[] => [
  first,
  ...others.filter(({ key }) => key === "p99" || key === "pause"),
];

function glance({ rows, contenders, ...rest }: Comparison): string {
  const lines = rows.map((row) => {
    const best = placeOf(row, sameKindOf({ rows, contenders, ...rest }))?.first.name;
    const shown = glanced(row);
    const cells = contenders.map(({ name }) => {
      const figures = shown.map(
        ({ key, digits }) => spreadOf(row, name, key) && number(spreadOf(row, name, key)!.median, digits),
      );
      const text = figures.every((figure) => figure === undefined)
        ? "–"
        : figures.map((figure) => figure ?? "–").join(" / ");
      return name === best ? `**${text}**` : text;
    });
    return [`[${row.title}](#${row.name})<br>${shown.map(unitOf).join(" / ")}`, ...cells];
  });
  return table(["", ...contenders.map(({ title }) => title)], lines);
}

const unitOf = ({ label, unit }: Metric): string => `${label}, ${unit}`;

function places(comparison: Comparison): string[] {
  const ranked = comparison.rows.flatMap((row) => {
    const place = placeOf(row, sameKindOf(comparison));
    return place === undefined || place.of === 1 ? [] : { row, place };
  });
  if (ranked.length === 0) return [];
  const behind = ranked.filter(({ place }) => place.place > 1);
  const head = `drawbridge is first of the multiplexed reverse tunnels in ${ranked.length - behind.length} of ${ranked.length} rows.`;
  if (behind.length === 0) return [head];
  return [`${head} Where it is not:`, behind.map(({ row, place }) => `- ${behindText(row, place)}`).join("\n")];
}

function behindText({ title, name }: ComparedRow, { place, of, first, share }: Place): string {
  const reason = REASONS[name] ?? "why is not known yet";
  return `${title}: ${place} of ${of}, ${number(share, 2)} × ${first.title}; ${reason}`;
}

function kinds(contenders: readonly Contender[]): string {
  const heads = ["", "Version", "Direction", "Connections between the ends", "Encryption", "Proven by"];
  return table(
    [...heads, "Callers come by", "Targets"],
    contenders.flatMap(({ title, version, kind }) =>
      kind === undefined
        ? []
        : [
            [
              ...[title, version, kind.direction, kind.connections, kind.encryption, kind.authentication],
              ...[kind.entrance, kind.targets],
            ],
          ],
    ),
  ).replace(/\| (---:?\s?\|? ?)+/, (line) => line.replaceAll("---:", "---"));
}

function machine({ machine: m, rounds, seconds, minutes }: Comparison): string {
  return [
    `- ${machineText(m)}`,
    `- ${rounds} round(s), ${seconds} s a run, ${number(minutes, 1)} minutes in all, load ${number(m.loadBefore, 1)} before`,
  ].join("\n");
}

function faults({ faults: seen, contenders }: Comparison): string[] {
  const wrong = seen.filter(({ kind }) => kind === "wrong bytes");
  const verdict = wrong.length === 0 ? "Bytes were intact in every run." : "**Bytes were not intact.**";
  const groups = new Map<string, number>();
  for (const { row, name, kind, text } of seen) {
    const title = contenders.find((each) => each.name === name)?.title ?? name;
    const what = `${row}, ${title}: ${kind}, ${text.split("\n")[0]}`;
    groups.set(what, (groups.get(what) ?? 0) + 1);
  }
  const list = [...groups].map(([what, count]) => `- ${what} (${count} run${count === 1 ? "" : "s"})`);
  return list.length === 0 ? [verdict] : [`${verdict} Seen beside that:`, list.join("\n")];
}

function section(row: ComparedRow, contenders: readonly Contender[]): string {
  const measured = contenders.filter(({ name }) => row.values[name] !== undefined);
  const lines = measured.map(({ name, title }) => [
    name === OURS ? `**${title}**` : title,
    ...row.metrics.map(({ key, digits }) => {
      const got = spreadOf(row, name, key);
      return got === undefined ? "–" : withSpread(got, digits);
    }),
  ]);
  const better = `${row.better === "more" ? "More" : "Less"} is better.`;
  return `### ${row.name}\n\n${row.about} ${better}\n\n${table(["", ...row.metrics.map(unitOf)], lines)}`;
}

export const BLOCK_BEGINS = "<!-- comparison: written by npm run bench -- --peers --write -->";
export const BLOCK_ENDS = "<!-- end of comparison -->";
const README_ROWS = ["bulk-down-8", "bulk-up-8", "requests-1", "requests-64", "new-tunnels"];
const README_COLUMNS = [OURS, "upstream", "openssh", "rathole-tls", "haproxy"];

/** README's five rows, between the two comments. */
export function readmeBlock(comparison: Comparison): string {
  const { rows, contenders } = comparison;
  const columns = contenders.filter((each) => README_COLUMNS.includes(each.name) && isTunnel(each));
  const lines = rows
    .filter(({ name }) => README_ROWS.includes(name))
    .map((row) => [
      `[${row.title}](docs/comparison.md#${row.name}), ${row.metrics[0].unit}`,
      ...columns.map(({ name }) => {
        const got = spreadOf(row, name, row.metrics[0].key);
        const text = got === undefined ? "–" : number(got.median, row.metrics[0].digits);
        return name === OURS ? `**${text}**` : text;
      }),
    ]);
  const head = ["", ...columns.map(({ title }) => title)];
  return [
    BLOCK_BEGINS,
    "",
    ...quietNote(comparison).flatMap((note) => [note, ""]),
    table(head, lines),
    "",
    BLOCK_ENDS,
  ].join("\n");
}

/** README with the block replaced. */
export function withBlock(readme: string, block: string): string {
  const [before, rest] = readme.split(BLOCK_BEGINS);
  const after = rest?.split(BLOCK_ENDS)[1];
  if (before === undefined || after === undefined) throw new Error("README.md has no place for the comparison");
  return before + block + after;
}
