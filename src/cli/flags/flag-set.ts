/** Command-line parsing with the semantics and the error texts of Go's pflag, which upstream's users know. */
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import type { FlagKind } from "./flag-value.js";
import { quote, quoteShorthand } from "./go-text.js";

export interface FlagOptions {
  readonly shorthand?: string;
  /** Accepted, not in --help, and its use is answered with this advice. */
  readonly deprecated?: string;
}

/** One flag: declared once, read after `FlagSet.parse`. */
export class Flag<T> {
  readonly name: string;
  readonly kind: FlagKind<T>;
  readonly usage: string;
  readonly options: FlagOptions;
  readonly defaultValue: T;
  private given: T | undefined;

  constructor(name: string, kind: FlagKind<T>, defaultValue: T, usage: string, options: FlagOptions) {
    this.name = name;
    this.kind = kind;
    this.defaultValue = defaultValue;
    this.usage = usage;
    this.options = options;
  }

  get value(): T {
    return this.given === undefined ? this.defaultValue : this.given;
  }

  /** True when it stood on the command line, whatever the value. */
  get changed(): boolean {
    return this.given !== undefined;
  }

  get hidden(): boolean {
    return this.options.deprecated !== undefined;
  }

  set(text: string): void {
    try {
      this.given = this.kind.read(text, this.given);
    } catch (error) {
      const shown = this.options.shorthand ? `-${this.options.shorthand}, --${this.name}` : `--${this.name}`;
      throw refused(`invalid argument ${quote(text)} for ${quote(shown)} flag: ${messageOf(error)}`);
    }
  }

  /** `--help`'s default column; undefined where pflag shows none. */
  get shownDefault(): string | undefined {
    return this.kind.showDefault(this.defaultValue);
  }
}

/** Anything a FlagSet can hold, whatever its type. */
export type AnyFlag = Pick<Flag<never>, "name" | "usage" | "options" | "hidden" | "shownDefault" | "set"> & {
  readonly kind: Pick<FlagKind<never>, "typeName" | "withoutValue">;
};

export interface ParsedArguments {
  /** What stood outside flags. */
  readonly positional: readonly string[];
  /** Sentences about accepted but outdated flags. */
  readonly warnings: readonly string[];
}

export class FlagSet {
  private readonly byName = new Map<string, AnyFlag>();
  private readonly byShorthand = new Map<string, AnyFlag>();

  add<T>(name: string, kind: FlagKind<T>, defaultValue: T, usage: string, options: FlagOptions = {}): Flag<T> {
    if (this.byName.has(name)) throw new Error(`flag redefined: ${name}`);
    const flag = new Flag(name, kind, defaultValue, usage, options);
    this.byName.set(name, flag);
    if (options.shorthand) this.byShorthand.set(options.shorthand, flag);
    return flag;
  }

  /** A second name for the same value, accepted but not in --help. */
  alias(name: string, flag: AnyFlag): void {
    this.byName.set(name, flag);
  }

  /** Sorted by name, as in --help. */
  get flags(): readonly AnyFlag[] {
    return [...new Set(this.byName.values())].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Flags and other words may be mixed; `--` ends the flags. */
  parse(argv: readonly string[]): ParsedArguments {
    const waiting = [...argv];
    const positional: string[] = [];
    const warnings = new Set<string>();
    for (let argument = waiting.shift(); argument !== undefined; argument = waiting.shift()) {
      if (argument === "--") {
        positional.push(...waiting);
        break;
      }
      if (argument.startsWith("--")) this.parseLong(argument, waiting, warnings);
      else if (argument.startsWith("-") && argument !== "-") this.parseShort(argument, waiting, warnings);
      else positional.push(argument);
    }
    return { positional, warnings: [...warnings] };
  }

  private parseLong(argument: string, waiting: string[], warnings: Set<string>): void {
    if (/^--[-=]/.test(argument)) throw refused(`bad flag syntax: ${argument}`);
    const [, name = "", value] = /^--([^=]*)(?:=(.*))?$/s.exec(argument) ?? [];
    const flag = this.byName.get(name);
    if (!flag) throw new DrawbridgeError("DB_FLAG_UNKNOWN", `unknown flag: --${name}`);
    const text = value ?? flag.kind.withoutValue ?? waiting.shift();
    if (text === undefined) throw refused(`flag needs an argument: --${name}`);
    assign(flag, text, warnings);
  }

  /** `-v4`, `-v 4`, `-v=4`, and boolean letters in a row. */
  private parseShort(argument: string, waiting: string[], warnings: Set<string>): void {
    for (let letters = argument.slice(1); letters !== ""; ) {
      const flag = this.byShorthand.get(letters[0] ?? "");
      if (!flag) {
        const message = `unknown shorthand flag: ${quoteShorthand(letters)} in -${letters}`;
        throw new DrawbridgeError("DB_FLAG_UNKNOWN", message);
      }
      let text: string | undefined;
      let rest = "";
      if (letters.length > 2 && letters[1] === "=") text = letters.slice(2);
      else if (flag.kind.withoutValue !== undefined) [text, rest] = [flag.kind.withoutValue, letters.slice(1)];
      else if (letters.length > 1) text = letters.slice(1);
      else text = waiting.shift();
      if (text === undefined) throw refused(`flag needs an argument: ${quoteShorthand(letters)} in -${letters}`);
      assign(flag, text, warnings);
      letters = rest;
    }
  }
}

function assign(flag: AnyFlag, text: string, warnings: Set<string>): void {
  flag.set(text);
  const { deprecated } = flag.options;
  if (deprecated) warnings.add(`Flag --${flag.name} has been deprecated, ${deprecated}`);
}

function refused(message: string): DrawbridgeError {
  return new DrawbridgeError("DB_FLAG_VALUE", message);
}
