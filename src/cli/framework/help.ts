/** The text of --help: purpose, usage, examples, and flags by group, wrapped to the terminal. */
import { painterFor } from "../../base/colour.js";
import { wrapped } from "../../base/text.js";
import type { Flag, FlagGroup, Flags } from "../flags/flag.js";
import type { CommandPage } from "./define.js";

/** In their order. */
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

/** Where standard output is no terminal, or one without a size, that of the shell if it passes it on, else 80. */
export function terminalWidth(): number {
  const columns = process.stdout.columns || Number(process.env.COLUMNS) || 80;
  return Math.min(Math.max(columns, NARROWEST), WIDEST);
}

/** Bold on a terminal, with its colon and its end of line. */
export const headingOf = (title: string): string => `${painterFor(process.stdout)(`${title}:`, "bold")}\n`;

export function helpPage(
  { program, purpose, words, examples, flags }: CommandPage & { readonly program: string },
  width = terminalWidth(),
): string {
  return [
    `${paragraphs(purpose, width)}\n\n${headingOf("Usage")}${commandLine(usageOf(program, words), width)}`,
    `\n${headingOf("Examples")}${examples.map((example) => commandLine(example, width)).join("")}`,
    ...groupsOf(flags).map(
      ([title, shown]) => `\n${headingOf(title)}${shown.map(([name, flag]) => flagText(name, flag, width)).join("")}`,
    ),
  ].join("");
}

export const usageOf = (program: string, words: string | undefined): string =>
  words ? `${program} ${words} [flags]` : `${program} [flags]`;

/** Broken as a shell takes it, unless its author broke it. */
function commandLine(line: string, width: number): string {
  const room = width - "    ".length - " \\".length;
  const lines = line.includes("\n") ? line.split("\n") : wrapped(line, room);
  return `  ${lines.join(line.includes("\n") ? "\n" : " \\\n    ")}\n`;
}

/** Lines that begin with a space stay as they are. */
export function paragraphs(text: string, width: number): string {
  return text.replace(/^[^ \n].*(?:\n[^ \n].*)*/gm, (paragraph) => wrapped(paragraph, width).join("\n"));
}

type Named = readonly [name: string, flag: Flag<unknown>];

/** Parts of --help with their flags, which are sorted by name. */
export function groupsOf(flags: Flags): [title: string, flags: Named[]][] {
  const shown = Object.entries(flags)
    .filter(([, { deprecated, hidden }]) => deprecated === undefined && hidden !== true)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.entries(TITLES)
    .map(([group, title]): [string, Named[]] => [title, shown.filter(([, flag]) => (flag.group ?? "common") === group)])
    .filter(([, members]) => members.length > 0);
}

/** A list or a path that is longer than the line goes on behind one of its signs. */
function fitting(line: string, room: number): string[] {
  if (line.length <= room) return [line];
  const head = /^.*[,:/]/.exec(line.slice(0, room))?.[0];
  return head === undefined ? [line] : [head, ...fitting(line.slice(head.length), room)];
}

/** In pflag's layout. */
function flagText(name: string, { kind, value, usage, shorthand }: Flag<unknown>, width: number): string {
  const dashes = shorthand ? `  -${shorthand}, --${name}` : `      --${name}`;
  const whole = kind.typeName ? `${dashes} ${kind.typeName}` : dashes;
  // Many words to choose from go on in the next line.
  const head =
    whole.length <= width ? whole : whole.replace(new RegExp(`^.{1,${width - 1}}\\|`), `$&\n${" ".repeat(8)}`);
  const fallback = kind.showDefault(value);
  const room = width - TEXT_COLUMN;
  const lines = wrapped(fallback === undefined ? usage : `${usage} (default ${fallback})`, room).flatMap((line) =>
    fitting(line, room),
  );
  const indent = " ".repeat(TEXT_COLUMN);
  const isShort = head.length + 3 <= TEXT_COLUMN;
  const first = isShort ? `${head.padEnd(TEXT_COLUMN)}${lines[0]}` : `${head}\n${indent}${lines[0]}`;
  return `${[first, ...lines.slice(1).map((line) => indent + line)].join("\n")}\n`;
}
