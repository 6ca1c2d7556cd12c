/** Differences as text, one subject after the other. */
import { bytesText } from "../preview/show.js";
import type { AspectChange, Change } from "./compare.js";

const SIGNS = { added: "+", removed: "-", changed: "~" } as const;
const LINE_SIGNS = { added: "+", removed: "-", same: " " } as const;

export function showChanges(changes: readonly Change[]): string {
  if (changes.length === 0) return "The payloads do the same.\n";
  const count = (wanted: Change["change"]) => changes.filter(({ change }) => change === wanted).length;
  const summary = `${count("added")} added, ${count("removed")} removed, ${count("changed")} changed.\n`;
  return `${changes.map(changeText).join("")}\n${summary}`;
}

function changeText({ subject, change, aspects }: Change): string {
  // Of what is gone it is enough to know that it is.
  const details = change === "removed" ? "" : aspects.map(aspectText).join("");
  return `${SIGNS[change]} ${printable(subject)}\n${details}`;
}

function aspectText({ name, before, after, hidden, sizes, lines }: AspectChange): string {
  const head = `    ${printable(name)}: `;
  if (lines !== undefined) {
    const rows = lines.map((line) =>
      line === null ? "      ...\n" : `      ${LINE_SIGNS[line.op]}${printable(line.text)}\n`,
    );
    return `${head}\n${rows.join("")}`.replace(": \n", ":\n");
  }
  const sized = sizes === undefined ? "" : between(sizes.map((size) => (size === null ? "nothing" : bytesText(size))));
  if (hidden !== undefined) return `${head}${sized === "" ? "" : `${sized} `}(${hidden}, not shown)\n`;
  return `${head}${sized || between([before ?? "nothing", after ?? "nothing"].map(printable))}\n`;
}

const between = ([before = "", after = ""]: readonly string[]): string =>
  before === "nothing" ? after : `${before} -> ${after}`;

/** Contents come from others; they must not steer a terminal. */
const printable = (text: string): string => text.replaceAll("\t", "    ").replace(/[\p{Cc}\p{Cf}]/gu, "?");
