import type { FlagKind } from "./flag-value.js";
import { quote } from "./go-text.js";

/** One of a few words; undefined until given. */
export function choice<T extends string>(...words: readonly T[]): FlagKind<T | undefined> {
  return {
    typeName: words.join("|"),
    read: (text) => {
      const word = words.find((candidate) => candidate === text);
      if (word === undefined) throw new Error(`must be one of ${words.join(", ")}`);
      return word;
    },
    showDefault: (value) => (value === undefined ? undefined : quote(value)),
  };
}
