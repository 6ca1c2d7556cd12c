/** What could stand at the end of a command line, from the same definitions that read it. */
import type { Flag, Flags } from "../flags/flag.js";
import type { CommandPage, Commands, Environment, Runnable } from "../framework/define.js";
import { commandOf } from "../framework/family.js";

/** With what it means, if that is known. */
export type Candidate = readonly [text: string, meaning: string];

export interface Completion {
  readonly candidates: readonly Candidate[];
  /** Whether a path belongs there, which shells complete themselves. */
  readonly files: boolean;
}

/** Targets, or agents, that a running server knows; none when nobody answers in time. */
export type AskTargets = (page: CommandPage, typed: readonly string[]) => Promise<readonly Candidate[]>;

type Offers = Flag<unknown>["offers"] | "targets";

const NOTHING: Completion = { candidates: [], files: false };

/** `typed` are the words behind the program, the last of which is the one at the cursor, perhaps empty. */
export async function complete(
  program: string,
  command: Runnable,
  typed: readonly string[],
  env: Environment,
  ask: AskTargets,
): Promise<Completion> {
  const [word = "", ...rest] = typed;
  const page = command.page(program, env);
  if ("commands" in page) {
    if (rest.length === 0) return beginningWith(word, commandsOf(page.commands));
    if (word === "help") return complete(program, command, rest, env, ask);
    const next = await commandOf(page.commands, word);
    return next === undefined ? NOTHING : complete(`${program} ${word}`, next, rest, env, ask);
  }
  const current = typed.at(-1) ?? "";
  const place = placeOf(page, typed.slice(0, -1), current);
  if (place.kind === "flags") return beginningWith(current, namesOf(page.flags));
  const values = await offered(place.offers, () => ask(page, typed.slice(0, -1)));
  const matching = beginningWith(current.slice(place.prefix.length), values.candidates);
  return {
    candidates: matching.candidates.map(([text, meaning]) => [place.prefix + text, meaning]),
    files: values.files,
  };
}

const commandsOf = (commands: Commands): Candidate[] => [
  ...Object.entries(commands).map(([name, [summary]]): Candidate => [name, summary]),
  ...[["help", "Show the help of a command"] as const, ["--help", ""] as const, ["--version", ""] as const],
];

const namesOf = (flags: Flags): Candidate[] =>
  Object.entries(flags)
    .filter(([, { deprecated, hidden }]) => deprecated === undefined && hidden !== true)
    .map(([name, { usage }]) => [`--${name}`, usage]);

function beginningWith(word: string, candidates: readonly Candidate[]): Completion {
  const isFlag = word.startsWith("-");
  const fitting = candidates.filter(([text]) => text.startsWith(word) && text.startsWith("-") === isFlag);
  return { candidates: fitting.toSorted(([a], [b]) => (a < b ? -1 : 1)), files: false };
}

type Place =
  | { readonly kind: "flags" }
  /** `prefix` is what stands before the value in the same word. */
  | { readonly kind: "value"; readonly prefix: string; readonly offers: Offers };

/** As parseFlags would go through the words. */
function placeOf({ flags, words }: CommandPage, before: readonly string[], current: string): Place {
  let awaiting: Flag<unknown> | undefined;
  for (const word of before) {
    if (awaiting !== undefined) awaiting = undefined;
    else if (word === "--") return { kind: "value", prefix: "", offers: offersOfWords(words) };
    else if (word.startsWith("-") && !word.includes("=")) awaiting = waitsForValue(flags, word);
  }
  if (awaiting !== undefined) return { kind: "value", prefix: "", offers: offersOf(awaiting) };
  const [prefix = "", name = ""] = /^--([^=]+)=/.exec(current) ?? [];
  if (prefix !== "") return { kind: "value", prefix, offers: Object.hasOwn(flags, name) ? offersOf(flags[name]!) : [] };
  if (current.startsWith("-")) return { kind: "flags" };
  return { kind: "value", prefix: "", offers: offersOfWords(words) };
}

/** The flag whose value is the next word, if it is one of those. */
function waitsForValue(flags: Flags, word: string): Flag<unknown> | undefined {
  const found = Object.entries(flags).find(([name, { alias, shorthand }]) =>
    word.startsWith("--") ? [name, alias].includes(word.slice(2)) : shorthand !== undefined && word === `-${shorthand}`,
  )?.[1];
  return found?.kind.withoutValue === undefined ? found : undefined;
}

const offersOf = ({ kind, offers }: Flag<unknown>): Offers =>
  offers ?? (kind.withoutValue === undefined ? [] : ["true", "false"]);

/** `FILE...`, `HOST:PORT`, `AGENT` and `bash|zsh|fish` say themselves what is meant. */
function offersOfWords(words = ""): Offers {
  if (/\b(FILE|DIR|ARCHIVE)\b/.test(words)) return "files";
  if (words.includes("HOST:PORT") || words === "AGENT") return "targets";
  if (/^[a-z]+(\|[a-z]+)+$/.test(words)) return words.split("|");
  return [];
}

async function offered(offers: Offers = [], ask: () => Promise<readonly Candidate[]>): Promise<Completion> {
  if (offers === "files") return { candidates: [], files: true };
  const candidates = offers === "targets" ? await ask() : offers.map((word): Candidate => [word, ""]);
  return { candidates, files: false };
}
