/** Command-line parsing with the semantics and the error texts of Go's pflag, which upstream's users know. */
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { type Flag, type Flags, propertyOf, type Values } from "./flag.js";
import { quote } from "./go-values.js";

export interface ParsedArguments<F extends Flags> {
  readonly values: Values<F>;
  /** Names of the flags that were on the command line, whatever their value. */
  readonly given: ReadonlySet<string>;
  /** Words outside flags. */
  readonly words: readonly string[];
  /** Sentences about accepted but outdated flags. */
  readonly warnings: readonly string[];
}

/** Flags and other words may be mixed; `--` ends the flags. */
export function parseFlags<F extends Flags>(flags: F, argv: readonly string[]): ParsedArguments<F> {
  const parser = new Parser(flags, argv);
  parser.parse();
  const values = Object.entries(flags).map(([name, { value }]) => [
    propertyOf(name),
    parser.read.has(name) ? parser.read.get(name) : value,
  ]);
  return {
    values: Object.fromEntries(values),
    given: new Set(parser.read.keys()),
    words: parser.words,
    warnings: [...parser.warnings],
  };
}

type NamedFlag = readonly [name: string, flag: Flag<unknown>];

class Parser {
  readonly read = new Map<string, unknown>();
  readonly words: string[] = [];
  readonly warnings = new Set<string>();
  readonly #byName = new Map<string, NamedFlag>();
  readonly #byShorthand = new Map<string, NamedFlag>();
  readonly #waiting: string[];

  constructor(flags: Flags, argv: readonly string[]) {
    this.#waiting = [...argv];
    for (const named of Object.entries(flags)) {
      const [name, { alias, shorthand }] = named;
      this.#byName.set(name, named);
      if (alias !== undefined) this.#byName.set(alias, named);
      if (shorthand !== undefined) this.#byShorthand.set(shorthand, named);
    }
  }

  parse(): void {
    for (let argument = this.#waiting.shift(); argument !== undefined; argument = this.#waiting.shift()) {
      if (argument === "--") {
        this.words.push(...this.#waiting);
        return;
      }
      if (argument.startsWith("--")) this.#parseLong(argument);
      else if (argument.startsWith("-") && argument !== "-") this.#parseShort(argument);
      else this.words.push(argument);
    }
  }

  #parseLong(argument: string): void {
    if (/^--[-=]/.test(argument)) throw refused(`bad flag syntax: ${argument}`);
    const [, name = "", value] = /^--([^=]*)(?:=(.*))?$/s.exec(argument) ?? [];
    const named = this.#byName.get(name);
    if (!named) throw new DrawbridgeError("DB_FLAG_UNKNOWN", `unknown flag: --${name}`);
    const given = value ?? named[1].kind.withoutValue ?? this.#waiting.shift();
    if (given === undefined) throw refused(`flag needs an argument: --${name}`);
    this.#assign(named, given);
  }

  /** `-v4`, `-v 4`, `-v=4`, and boolean letters in a row. */
  #parseShort(argument: string): void {
    for (let letters = argument.slice(1); letters !== ""; ) {
      const named = this.#byShorthand.get(letters[0] ?? "");
      if (!named) {
        throw new DrawbridgeError("DB_FLAG_UNKNOWN", `unknown shorthand flag: '${letters[0]}' in -${letters}`);
      }
      const { withoutValue } = named[1].kind;
      let given: string | undefined;
      let rest = "";
      if (letters.length > 2 && letters[1] === "=") given = letters.slice(2);
      else if (withoutValue !== undefined) [given, rest] = [withoutValue, letters.slice(1)];
      else if (letters.length > 1) given = letters.slice(1);
      else given = this.#waiting.shift();
      if (given === undefined) throw refused(`flag needs an argument: '${letters[0]}' in -${letters}`);
      this.#assign(named, given);
      letters = rest;
    }
  }

  #assign([name, { deprecated, kind, shorthand }]: NamedFlag, given: string): void {
    try {
      this.read.set(name, kind.read(given, this.read.get(name)));
    } catch (error) {
      const shown = shorthand ? `-${shorthand}, --${name}` : `--${name}`;
      throw refused(`invalid argument ${quote(given)} for ${quote(shown)} flag: ${messageOf(error)}`);
    }
    if (deprecated) this.warnings.add(`Flag --${name} has been deprecated, ${deprecated}`);
  }
}

/** The command was called wrongly; the sentence says how. */
export function refused(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_FLAG_VALUE", sentence);
}
