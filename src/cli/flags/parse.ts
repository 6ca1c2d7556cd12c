/** Command-line parsing with the semantics and the error texts of Go's pflag, which upstream's users know. */
import { DrawbridgeError, errorOf, messageOf } from "../../base/errors/error.js";
import { type Flag, type Flags, propertyOf, type Values } from "./flag.js";
import { quote } from "./go-values.js";
import { suggestion } from "./suggestion.js";

export interface ParsedArguments<F extends Flags> {
  readonly values: Values<F>;
  /** Names of the flags that were on the command line, whatever their value. */
  readonly given: ReadonlySet<string>;
  /** Words outside flags. */
  readonly words: readonly string[];
  /** Sentences about accepted but outdated flags. */
  readonly warnings: readonly string[];
}

type NamedFlag = readonly [name: string, flag: Flag<unknown>];

/** Flags and other words may be mixed; `--` ends the flags. */
export function parseFlags<F extends Flags>(flags: F, argv: readonly string[]): ParsedArguments<F> {
  const named = Object.entries(flags);
  const byName = new Map<string, NamedFlag>(named.map((flag) => [flag[0], flag]));
  for (const flag of named) if (flag[1].alias !== undefined) byName.set(flag[1].alias, flag);
  const byShorthand = new Map<string | undefined, NamedFlag>(named.map((flag) => [flag[1].shorthand, flag]));
  const read = new Map<string, unknown>();
  const words: string[] = [];
  const warnings = new Set<string>();
  const waiting = [...argv];

  const assign = ([name, { deprecated, kind, shorthand }]: NamedFlag, given: string): void => {
    try {
      read.set(name, kind.read(given, read.get(name)));
    } catch (error) {
      const shown = shorthand ? `-${shorthand}, --${name}` : `--${name}`;
      throw refused(`invalid argument ${quote(given)} for ${quote(shown)} flag: ${messageOf(error)}`);
    }
    if (deprecated) warnings.add(`Flag --${name} has been deprecated, ${deprecated}`);
  };

  const parseLong = (argument: string): void => {
    if (/^--[-=]/.test(argument)) throw refused(`bad flag syntax: ${argument}`);
    const [, name = "", value] = /^--([^=]*)(?:=(.*))?$/s.exec(argument) ?? [];
    const flag = byName.get(name);
    if (!flag) throw unknown(`unknown flag: --${name}${suggestion(`--${name}`, shownNames(flags))}`);
    const given = value ?? flag[1].kind.withoutValue ?? waiting.shift();
    if (given === undefined) throw missing(`flag needs an argument: --${name}`);
    assign(flag, given);
  };

  /** `-v4`, `-v 4`, `-v=4`, and boolean letters in a row. */
  const parseShort = (argument: string): void => {
    for (let letters = argument.slice(1); letters !== ""; ) {
      const flag = byShorthand.get(letters[0]);
      if (!flag) {
        // `-output` is a row of letters to pflag, and one dash too few to people.
        const meant = suggestion(`-${argument}`, shownNames(flags));
        throw unknown(`unknown shorthand flag: '${letters[0]}' in -${letters}${meant}`);
      }
      const { withoutValue } = flag[1].kind;
      let given: string | undefined;
      let rest = "";
      if (letters.length > 2 && letters[1] === "=") given = letters.slice(2);
      else if (withoutValue !== undefined) [given, rest] = [withoutValue, letters.slice(1)];
      else if (letters.length > 1) given = letters.slice(1);
      else given = waiting.shift();
      if (given === undefined) throw missing(`flag needs an argument: '${letters[0]}' in -${letters}`);
      assign(flag, given);
      letters = rest;
    }
  };

  for (let argument = waiting.shift(); argument !== undefined; argument = waiting.shift()) {
    if (argument === "--") words.push(...waiting.splice(0));
    else if (argument.startsWith("--")) parseLong(argument);
    else if (argument.startsWith("-") && argument !== "-") parseShort(argument);
    else words.push(argument);
  }
  const values = named.map(([name, { value }]) => [propertyOf(name), read.has(name) ? read.get(name) : value]);
  return { values: Object.fromEntries(values), given: new Set(read.keys()), words, warnings: [...warnings] };
}

/** A flag or a command that does not exist. */
export const unknown = errorOf("DB_FLAG_UNKNOWN");

const shownNames = (flags: Flags): string[] =>
  Object.entries(flags).flatMap(([name, { deprecated, hidden }]) => (deprecated || hidden ? [] : [`--${name}`]));

/** The command was called wrongly; the sentence says how. */
export const refused = (sentence: string, remedy?: string): DrawbridgeError =>
  new DrawbridgeError("DB_FLAG_VALUE", sentence, { remedy });

/** Something without which it cannot begin was left out. */
export const missing = (sentence: string, remedy?: string): DrawbridgeError =>
  new DrawbridgeError("DB_FLAG_MISSING", sentence, { remedy });
