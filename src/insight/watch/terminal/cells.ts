/** Text in a terminal's columns. What strangers chose is made harmless before it gets there. */
import { plainText, wrapped } from "../../../base/text.js";

/** Exactly `width` columns; what does not fit loses its beginning, because the end of a name tells most. */
export function cell(text: string, width: number, align: "left" | "right" = "left"): string {
  if (width <= 0) return "";
  const letters = [...plainText(text)];
  const fitting = letters.length <= width ? letters : ["…", ...letters.slice(letters.length - width + 1)];
  const space = " ".repeat(width - fitting.length);
  return align === "left" ? fitting.join("") + space : space + fitting.join("");
}

/** The same for a line of our own making, whose spaces mean something. */
export const line = (text: string, width: number): string => text.slice(0, width).padEnd(width);

/** More than this is no sentence. */
const LONGEST_CAUSE = 2_000;

/** A sentence whole, in as many lines as it takes; all but the first are set in. */
export function paragraph(text: string, width: number): string[] {
  const room = Math.max(10, width - 2);
  const pieces = wrapped(plainText(text, LONGEST_CAUSE), room).flatMap(
    (each) => each.match(new RegExp(`.{1,${room}}`, "gu")) ?? [],
  );
  return pieces.map((each, at) => (at === 0 ? each : `  ${each}`));
}

/** A finished line, colours and all, no wider than the screen: one that is wrapped would push the last one out. */
export function clipped(text: string, width: number): string {
  let room = width;
  return text
    .split(COLOURS)
    .map((part, index) => {
      // Every second part is what was split at.
      if (index % 2 === 1) return part;
      const letters = [...part].slice(0, room);
      room -= letters.length;
      return letters.join("");
    })
    .join("");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: our own
const COLOURS = /(\u001b\[[\d;]*m)/;

/** As many of the parts as fit whole, but the first of them in any case. */
export function fittingParts(parts: readonly string[], width: number): string {
  const fitting = parts.findLastIndex((_, last) => widthOf(parts.slice(0, last + 1).join("  ")) <= width);
  return parts.slice(0, Math.max(1, fitting + 1)).join("  ");
}

const widthOf = (text: string): number =>
  [
    ...text
      .split(COLOURS)
      .filter((_, index) => index % 2 === 0)
      .join(""),
  ].length;

/** The last values as a row of bars, the latest at the right. */
export function sparkline(values: readonly number[], width: number): string {
  const shown = values.slice(-width);
  const highest = Math.max(...shown, 1);
  const bars = shown.map((value) => "▁▂▃▄▅▆▇█"[Math.min(7, Math.floor((value / highest) * 8))] ?? "▁");
  return bars.join("").padStart(width);
}
