/** What a flag can hold: how its text is read, and how pflag names and shows it in --help. */

import { readCsvRecord } from "./go-csv.js";
import { formatGoDuration, type GoDuration, parseGoDuration } from "./go-duration.js";
import { parseBool, parseFloat32, parseInteger } from "./go-number.js";
import { quote } from "./go-text.js";

export interface FlagKind<T> {
  /** The word behind the name in --help; empty for booleans. */
  readonly typeName: string;
  /** Reads one occurrence; `earlier` is what former occurrences made, undefined at the first. Throws an Error with Go's text. */
  read(text: string, earlier: T | undefined): T;
  /** The text in `(default ...)`; undefined when pflag leaves that out for a zero value. */
  showDefault(value: T): string | undefined;
  /** What the flag means when it stands without a value; undefined: it needs one. */
  readonly withoutValue?: string;
}

export const string: FlagKind<string> = {
  typeName: "string",
  read: (text) => text,
  showDefault: (value) => (value === "" ? undefined : quote(value)),
};

export const boolean: FlagKind<boolean> = {
  typeName: "",
  read: parseBool,
  showDefault: (value) => (value ? "true" : undefined),
  withoutValue: "true",
};

export const integer: FlagKind<number> = {
  typeName: "int",
  read: (text) => parseInteger(text, 0, 64),
  showDefault: showNumber,
};

export const float32: FlagKind<number> = { typeName: "float32", read: parseFloat32, showDefault: showNumber };

export const duration: FlagKind<GoDuration> = {
  typeName: "duration",
  read: parseGoDuration,
  showDefault: (value) => (value === 0n ? undefined : formatGoDuration(value)),
};

/** Comma-separated and repeatable. `[]`, which is how pflag prints an empty list, means one here; pflag reads a literal `[]`. */
export const stringSlice: FlagKind<readonly string[]> = {
  typeName: "strings",
  read: (text, earlier = []) => [...earlier, ...(text === "[]" ? [] : readCsvRecord(text))],
  showDefault: showList,
};

/** Repeatable, commas belong to the value. */
export const stringArray: FlagKind<readonly string[]> = {
  typeName: "stringArray",
  read: (text, earlier = []) => [...earlier, text],
  showDefault: showList,
};

function showNumber(value: number): string | undefined {
  return value === 0 ? undefined : String(value);
}

function showList(value: readonly string[]): string | undefined {
  return value.length === 0 ? undefined : `[${value.join(",")}]`;
}
