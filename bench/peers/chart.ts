import { number } from "../results/format.js";
import type { Spread } from "../results/statistics.js";
import type { Metric } from "../rows/row.js";
import { type ComparedRow, type Comparison, type Contender, isTunnel, OURS, spreadOf } from "./comparison.js";
import { isSameKind } from "./tunnel.js";

const WIDTH = 900;
const MARGIN = 24;
const GAP = 40;
const COLUMN = (WIDTH - 2 * MARGIN - GAP) / 2;
const LABELS = 122;
const FIGURES = 66;
const BARS = COLUMN - LABELS - FIGURES;
const HEAD = 86;
const TITLE = 40;
const PITCH = 19;
const BAR = 13;
const BETWEEN = 26;

/** Its own background, so that it is readable wherever it stands; dark where the reader's system is. */
const STYLE = `
  text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
  .ground { fill: #ffffff; stroke: #d1d9e0; } .quiet { fill: #59636e; } .title { font-weight: 600; font-size: 13px; }
  .head { font-weight: 600; font-size: 16px; } .ours { fill: #0b63ce; } .same { fill: #6b7683; } .other { fill: #c3cbd4; }
  .name-ours { font-weight: 600; } .spread { stroke: #1f2328; stroke-width: 1; opacity: 0.55; } .axis { stroke: #d1d9e0; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .ground { fill: #0d1117; stroke: #3d444d; } .quiet { fill: #9198a1; }
    .ours { fill: #4493f8; } .same { fill: #8d96a0; } .other { fill: #444c56; } .spread { stroke: #e6edf3; }
    .axis { stroke: #3d444d; }
  }
`;

/** docs/images/comparison.svg: one panel for each row, all with the same order of tunnels. */
export function comparisonChart(comparison: Comparison): string {
  const tunnels = comparison.contenders.filter(isTunnel);
  const limit = comparison.contenders.find((each) => !isTunnel(each));
  const panel = TITLE + tunnels.length * PITCH;
  const lines = Math.ceil(comparison.rows.length / 2);
  const height = HEAD + lines * (panel + BETWEEN);
  const panels = comparison.rows.map((row, at) => {
    const x = MARGIN + (at % 2) * (COLUMN + GAP);
    const y = HEAD + Math.floor(at / 2) * (panel + BETWEEN);
    return `<g transform="translate(${x} ${y})">\n${panelOf(row, tunnels, limit)}\n</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="t d">`,
    `<title id="t">drawbridge beside other tunnels</title>`,
    `<desc id="d">${escaped(description(comparison, tunnels))}</desc>`,
    `<style>${STYLE}</style>`,
    `<rect class="ground" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8"/>`,
    `<text class="head" x="${MARGIN}" y="32">The same work through each tunnel, in one run</text>`,
    legend(),
    ...panels,
    "</svg>",
    "",
  ].join("\n");
}

const ENTRIES = [
  ["ours", "drawbridge"],
  ["same", "other multiplexed reverse tunnels"],
  ["other", "a connection for each caller"],
] as const;

function legend(): string {
  let x = MARGIN;
  const entries = ENTRIES.map(([kind, text]) => {
    const entry = `<rect class="${kind}" x="${x}" y="48" width="12" height="12" rx="2"/><text class="quiet" x="${x + 18}" y="58">${text}</text>`;
    x += 44 + text.length * 6.4;
    return entry;
  });
  return `${entries.join("\n")}\n<text class="quiet" x="${WIDTH - MARGIN}" y="58" text-anchor="end">median, line from least to most</text>`;
}

function panelOf(row: ComparedRow, tunnels: readonly Contender[], limit: Contender | undefined): string {
  const [shown] = row.metrics;
  const spreads = tunnels.map(({ name }) => spreadOf(row, name, shown.key));
  const most = Math.max(...spreads.flatMap((each) => (each && Number.isFinite(each.most) ? each.most : [])), 0) || 1;
  const free = limit && spreadOf(row, limit.name, shown.key);
  const without = free ? `; without a tunnel ${number(free.median, shown.digits)}` : "";
  const bottom = TITLE + tunnels.length * PITCH - (PITCH - BAR) / 2;
  return [
    `<text class="title" y="12">${escaped(row.title)}</text>`,
    `<text class="quiet" y="29">${escaped(`${shown.label}, ${shown.unit}, ${row.better} is better${without}`)}</text>`,
    ...tunnels.map((tunnel, at) => bar(tunnel, spreads[at], shown, most, TITLE + at * PITCH)),
    `<line class="axis" x1="${LABELS - 0.5}" x2="${LABELS - 0.5}" y1="${TITLE - 3}" y2="${bottom}"/>`,
  ].join("\n");
}

function bar(tunnel: Contender, got: Spread | undefined, { digits }: Metric, most: number, y: number): string {
  const isOurs = tunnel.name === OURS;
  const kind = isOurs ? "ours" : isSameKind(tunnel) ? "same" : "other";
  const middle = y + BAR / 2;
  const name = `<text class="${isOurs ? "name-ours" : "quiet"}" x="${LABELS - 8}" y="${y + 10.5}" text-anchor="end">${escaped(tunnel.title)}</text>`;
  const figure = (x: number, text: string) =>
    `<text${isOurs ? ' class="name-ours"' : ""} x="${x.toFixed(1)}" y="${y + 10.5}">${text}</text>`;
  if (got === undefined || !Number.isFinite(got.median)) {
    return `${name}${figure(LABELS + 6, got === undefined ? "not measured" : "frozen")}`;
  }
  const scale = (value: number) => (value / most) * BARS;
  const ends = LABELS + scale(Number.isFinite(got.most) ? got.most : got.median);
  const line = `<line class="spread" x1="${(LABELS + scale(got.least)).toFixed(1)}" x2="${ends.toFixed(1)}" y1="${middle}" y2="${middle}"/>`;
  return [
    name,
    `<path class="${kind}" d="${barPath(scale(got.median), y)}"/>`,
    got.least === got.most ? "" : line,
    figure(ends + 6, number(got.median, digits)),
  ].join("");
}

/** Square at the axis, round at its end. */
function barPath(width: number, y: number): string {
  const length = Math.max(1, width);
  const radius = Math.min(3, length / 2);
  const flat = (length - radius).toFixed(1);
  return `M${LABELS} ${y}h${flat}q${radius} 0 ${radius} ${radius}v${BAR - 2 * radius}q0 ${radius} ${-radius} ${radius}h-${flat}z`;
}

function description({ rows }: Comparison, tunnels: readonly Contender[]): string {
  const sentences = rows.map((row) => {
    const [{ key, unit, digits }] = row.metrics;
    const figures = tunnels.map(({ name, title }) => {
      const got = spreadOf(row, name, key);
      return `${title} ${got === undefined ? "not measured" : number(got.median, digits)}`;
    });
    return `${row.title} (${unit}): ${figures.join(", ")}.`;
  });
  return sentences.join(" ");
}

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
