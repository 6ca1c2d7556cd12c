/** Man pages from the definitions of commands and flags. */
import type { Flag } from "../../src/cli/flags/flag.js";
import type { CommandPage, FamilyPage } from "../../src/cli/framework/define.js";
import { groupsOf, usageOf } from "../../src/cli/framework/help.js";

export interface ManPage {
  /** As it is called: `drawbridge pki`. */
  readonly program: string;
  /** One line. */
  readonly summary: string;
  readonly page: CommandPage | FamilyPage;
  /** Of a family: its commands, each with its whole name. */
  readonly members: readonly (readonly [program: string, page: CommandPage])[];
  /** Other pages. */
  readonly related: readonly string[];
  readonly version: string;
}

/** `drawbridge pki` is in drawbridge-pki(1). */
export const pageName = (program: string): string => program.replaceAll(" ", "-");

export function manPage({ program, summary, page, members, related, version }: ManPage): string {
  const name = pageName(program);
  return [
    `.TH ${quoted(name.toUpperCase())} 1 "" ${quoted(`drawbridge ${version}`)} "drawbridge"`,
    ".SH NAME",
    `${escaped(name)} \\- ${escaped(summary)}`,
    ".SH SYNOPSIS",
    ...("flags" in page ? synopsis(program, page) : [`.B ${escaped(program)}`, ".I COMMAND", "[flags]"]),
    ".SH DESCRIPTION",
    ...paragraphs(page.purpose),
    ...("flags" in page ? commandParts(page, ".SH") : commandList(page)),
    ...members.flatMap(([each, member]) => [
      `.SH ${quoted(each.toUpperCase())}`,
      ...synopsis(each, member),
      ".PP",
      ...paragraphs(member.purpose),
      ...commandParts(member, ".SS"),
    ]),
    ".SH EXIT STATUS",
    "0 when all is well, 1 when the command failed, 2 when it was called wrongly;",
    "proxy\\-server, proxy\\-agent and the konnectivity proxies end with 1 for both, as the originals do.",
    ...(related.length === 0 ? [] : [".SH SEE ALSO", related.map((each) => `.BR ${escaped(each)} (1)`).join(" ,\n")]),
    "",
  ].join("\n");
}

const synopsis = (program: string, { words }: CommandPage): string[] => [
  `.B ${escaped(program)}`,
  escaped(usageOf("", words).trim()),
];

const commandList = ({ commands }: FamilyPage): string[] => [
  ".SH COMMANDS",
  ...Object.entries(commands).flatMap(([name, [summary]]) => [".TP", `.B ${escaped(name)}`, line(`${summary}.`)]),
];

function commandParts({ examples, flags }: CommandPage, heading: ".SH" | ".SS"): string[] {
  return [
    ...groupsOf(flags).flatMap(([title, shown]) => [
      `${heading} ${quoted(heading === ".SH" ? title.toUpperCase() : title)}`,
      ...shown.flatMap(([name, flag]) => flagParts(name, flag)),
    ]),
    `${heading} ${quoted(heading === ".SH" ? "EXAMPLES" : "Examples")}`,
    ...[".nf", ".RS 4", ...examples.flatMap((example) => example.split("\n").map(line)), ".RE", ".fi"],
  ];
}

function flagParts(name: string, { kind, shorthand, usage, value }: Flag<unknown>): string[] {
  const dashes = [...(shorthand ? [`-${shorthand}`] : []), `--${name}`].map((each) => `\\fB${escaped(each)}\\fR`);
  const type = kind.typeName === "" ? "" : ` \\fI${escaped(kind.typeName)}\\fR`;
  const fallback = kind.showDefault(value);
  return [".TP", dashes.join(", ") + type, line(fallback === undefined ? usage : `${usage} (default ${fallback})`)];
}

/** Lines that begin with a space stay as they are, as in --help. */
function paragraphs(text: string): string[] {
  return text.split(/\n\n+/).flatMap((part, at) => {
    const lines = part.split("\n");
    const isVerbatim = lines.some((each) => each.startsWith(" "));
    const begin = at === 0 ? [] : [".PP"];
    return isVerbatim ? [...begin, ".nf", ...lines.map(line), ".fi"] : [...begin, ...lines.map(line)];
  });
}

/** A line of text; a dot or an apostrophe at its beginning would be a request. */
const line = (text: string): string => escaped(text).replace(/^(?=[.'])/gm, "\\&");

const escaped = (text: string): string => text.replaceAll("\\", "\\e").replaceAll("-", "\\-");

const quoted = (text: string): string => `"${escaped(text).replaceAll('"', '""')}"`;
