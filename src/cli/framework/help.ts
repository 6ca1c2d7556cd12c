/** The text of --help: purpose, usage, examples, and flags by group, wrapped to the terminal. */
import { wrapped } from "../../base/text.js";
import type { Flag, FlagGroup, Flags } from "../flags/flag.js";

const TITLES: Readonly<Record<FlagGroup, string>> = {
  common: "Flags",
  tls: "TLS flags",
  kubernetes: "Kubernetes flags",
  advanced: "Advanced flags",
  compatibility: "Flags accepted for compatibility",
};

/** Column in which the sentences begin; a longer name has a line of its own. */
const TEXT_COLUMN = 32;
const NARROWEST = 60;
const WIDEST = 120;

export interface HelpContent {
  readonly program: string;
  readonly purpose: string;
  readonly words: string | undefined;
  readonly examples: readonly string[] | undefined;
  readonly flags: Flags;
}

/** 80 where standard output is no terminal. */
export function terminalWidth(): number {
  return Math.min(Math.max(process.stdout.columns ?? 80, NARROWEST), WIDEST);
}

export function helpPage(
  { program, purpose, words, examples = [], flags }: HelpContent,
  width = terminalWidth(),
): string {
  const usage = words ? `${program} ${words} [flags]` : `${program} [flags]`;
  return [
    `${paragraphs(purpose, width)}\n\nUsage:\n  ${usage}\n`,
    examples.length === 0 ? "" : `\nExamples:\n${examples.map((example) => `  ${example}\n`).join("")}`,
    ...(Object.keys(TITLES) as FlagGroup[]).map((group) => flagList(group, flags, width)),
  ].join("");
}

/** Lines that begin with a space stay as they are. */
export function paragraphs(text: string, width: number): string {
  return text.replace(/^[^ \n].*(?:\n[^ \n].*)*/gm, (paragraph) => wrapped(paragraph, width).join("\n"));
}

/** Sorted by name, in pflag's layout. */
function flagList(group: FlagGroup, flags: Flags, width: number): string {
  const shown = Object.entries(flags)
    .filter(([, flag]) => (flag.group ?? "common") === group && flag.deprecated === undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  if (shown.length === 0) return "";
  return `\n${TITLES[group]}:\n${shown.map(([name, flag]) => flagText(name, flag, width)).join("")}`;
}

function flagText(name: string, { kind, value, usage, shorthand }: Flag<unknown>, width: number): string {
  const dashes = shorthand ? `  -${shorthand}, --${name}` : `      --${name}`;
  const head = kind.typeName ? `${dashes} ${kind.typeName}` : dashes;
  const fallback = kind.showDefault(value);
  const lines = wrapped(fallback === undefined ? usage : `${usage} (default ${fallback})`, width - TEXT_COLUMN);
  const indent = " ".repeat(TEXT_COLUMN);
  const isShort = head.length + 3 <= TEXT_COLUMN;
  const first = isShort ? `${head.padEnd(TEXT_COLUMN)}${lines[0]}` : `${head}\n${indent}${lines[0]}`;
  return `${[first, ...lines.slice(1).map((line) => indent + line)].join("\n")}\n`;
}
