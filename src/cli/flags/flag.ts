/** Flags as data: what a flag holds, how its text is read, and what --help says about it. */
import { formatDuration, parseBool, parseDecimal, parseDuration, parseInteger, parseList, quote } from "./go-values.js";

/** The part of --help in which a flag is listed. */
export type FlagGroup = "common" | "tls" | "kubernetes" | "advanced" | "compatibility";

/** A type of flags: how a text is read, and how pflag names and shows it in --help. */
export interface FlagKind<T> {
  /** The word behind the name in --help; empty for booleans. */
  readonly typeName: string;
  /** Reads one occurrence; `earlier` is what former occurrences gave, undefined at the first. Throws an Error. */
  read(text: string, earlier: T | undefined): T;
  /** The text in `(default ...)`; undefined when there is none to show. */
  showDefault(value: T): string | undefined;
  /** The value of a flag without `=value`; undefined: it takes the next word. */
  readonly withoutValue?: string;
}

export interface Flag<T> {
  readonly kind: FlagKind<T>;
  /** The value when the flag is not given. */
  readonly value: T;
  /** One sentence that can be read alone. */
  readonly usage: string;
  readonly group?: FlagGroup;
  /** Set where the value must not be empty: what is asked for when it is. */
  readonly required?: string;
  readonly shorthand?: string;
  /** A former name, accepted but not in --help. */
  readonly alias?: string;
  /** Accepted, not in --help; using it prints this advice. */
  readonly deprecated?: string;
  /** Accepted, not in --help. */
  readonly hidden?: boolean;
  /** What completion offers as a value. */
  readonly offers?: Offers;
}

/** A few words, or the files of this host. */
type Offers = readonly string[] | "files";

/** By their names on the command line. */
export type Flags = Readonly<Record<string, Flag<unknown>>>;

type Camel<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;

/** Values of parsed flags: --dry-run is `dryRun`. */
export type Values<F extends Flags> = {
  readonly [Name in keyof F & string as Camel<Name>]: F[Name] extends Flag<infer T> ? T : never;
};

/** The property of a flag in `Values`. */
export const propertyOf = (name: string): string => name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());

/** Lists all of these flags in one part of --help. */
export function inGroup<F extends Flags>(group: FlagGroup, flags: F): F {
  return Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, { ...flag, group }])) as unknown as F;
}

const STRING: FlagKind<string> = {
  typeName: "string",
  read: (value) => value,
  showDefault: (value) => (value === "" ? undefined : quote(value)),
};

const BOOLEAN: FlagKind<boolean> = {
  typeName: "",
  read: parseBool,
  showDefault: (value) => (value ? "true" : undefined),
  withoutValue: "true",
};

const showNumber = (value: number): string | undefined => (value === 0 ? undefined : String(value));
const showList = (value: readonly string[]): string | undefined =>
  value.length === 0 ? undefined : `[${value.join(",")}]`;

export const text = (usage: string, value = ""): Flag<string> => ({ kind: STRING, value, usage });

/** The path of a file or a directory. */
export const filePath = (usage: string, value = ""): Flag<string> => ({ ...text(usage, value), offers: "files" });

/** A switch. */
export const yesNo = (usage: string, value = false): Flag<boolean> => ({ kind: BOOLEAN, value, usage });

/** Undefined unless it is given. */
export const maybe = (usage: string): Flag<boolean | undefined> => ({
  kind: { ...BOOLEAN, showDefault: () => undefined } as FlagKind<boolean | undefined>,
  value: undefined,
  usage,
});

/** The flag with a rule for its values: `objection` says what a wrong one must be. */
export function restricted<T>(flag: Flag<T>, objection: (value: T) => string | undefined): Flag<T> {
  const read: FlagKind<T>["read"] = (given, earlier) => {
    const value = flag.kind.read(given, earlier);
    const sentence = objection(value);
    if (sentence !== undefined) throw new Error(sentence);
    return value;
  };
  return { ...flag, kind: { ...flag.kind, read } };
}

/** A text that must not be empty when it is given. */
export const filled = (flag: Flag<string>): Flag<string> =>
  restricted(flag, (value) => (value.trim() === "" ? "must not be empty" : undefined));

/** A text without which the command is not run; `question` completes "--pool is missing:". */
export const required = (flag: Flag<string>, question: string): Flag<string> => ({
  ...flag,
  usage: `${flag.usage} Required.`,
  required: question,
});

const INTEGER: FlagKind<number> = {
  typeName: "int",
  read: parseInteger,
  showDefault: showNumber,
};

/** The smallest value that a flag may be given; its default may be smaller. */
interface Bound {
  readonly least?: number;
}

function bounded(flag: Flag<number>, { least }: Bound): Flag<number> {
  if (least === undefined) return flag;
  const objection = `must be at least ${flag.kind.showDefault(least) ?? 0}`;
  return restricted(flag, (value) => (value < least ? objection : undefined));
}

export const number = (value: number, usage: string, bound: Bound = {}): Flag<number> =>
  bounded({ kind: INTEGER, value, usage }, bound);

/** A TCP port; 0 has a meaning of its own wherever it is allowed. */
export const port = (value: number, usage: string, least: 0 | 1 = 0): Flag<number> =>
  restricted(number(value, usage), (given) =>
    given < least || given > 65_535 ? `must be a port from ${least} to 65535` : undefined,
  );

export const float = (value: number, usage: string): Flag<number> => ({
  kind: { typeName: "float32", read: parseDecimal, showDefault: showNumber },
  value,
  usage,
});

// Node's timers hold 31 bits of milliseconds and fire at once beyond that; 24 days is as good as never for our waits.
const LONGEST_TIMER = 2 ** 31 - 1;

const showDuration = (ms: number): string | undefined => (ms === 0 ? undefined : formatDuration(ms));

/** A wait in milliseconds, as Node's timers can hold it. */
export const duration = (value: string, usage: string, bound: Bound = {}): Flag<number> =>
  lifetime(value, usage, bound, LONGEST_TIMER);

/** A time in milliseconds that no timer has to hold: how long a certificate is valid. */
export const lifetime = (value: string, usage: string, bound: Bound = {}, longest = Infinity): Flag<number> => {
  const read = (given: string) => Math.min(parseDuration(given), longest);
  const kind = { typeName: "duration", read, showDefault: showDuration };
  return bounded({ kind, value: parseDuration(value), usage }, bound);
};

/** Comma-separated and repeatable. `[]`, which is how pflag prints an empty list, is an empty list; pflag reads a literal `[]`. */
export const list = (usage: string, value: readonly string[] = []): Flag<readonly string[]> => ({
  kind: {
    typeName: "strings",
    read: (given, earlier = []) => [...earlier, ...(given === "[]" ? [] : parseList(given))],
    showDefault: showList,
  },
  value,
  usage,
});

/** Repeatable; commas belong to the value. */
export const repeated = (usage: string, value: readonly string[] = []): Flag<readonly string[]> => ({
  kind: { typeName: "stringArray", read: (given, earlier = []) => [...earlier, given], showDefault: showList },
  value,
  usage,
});

/** One of a few words; undefined unless there is a default or it is given. */
export function oneOf<const Word extends string>(words: readonly Word[], usage: string): Flag<Word | undefined>;
export function oneOf<const Word extends string>(words: readonly Word[], usage: string, value: Word): Flag<Word>;
export function oneOf<const Word extends string>(
  words: readonly Word[],
  usage: string,
  value?: Word,
): Flag<Word | undefined> {
  const kind: FlagKind<Word | undefined> = {
    typeName: words.join("|"),
    read: (given) => {
      const word = words.find((candidate) => candidate === given);
      if (word === undefined) throw new Error(`must be one of ${words.join(", ")}`);
      return word;
    },
    showDefault: (word) => (word === undefined ? undefined : quote(word)),
  };
  return { kind, value, usage, offers: words };
}
