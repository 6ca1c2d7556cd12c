/** What --help prints, and what is said about words that are no flags. */
import { flagUsages } from "../flags/flag-help.js";
import type { FlagSet } from "../flags/flag-set.js";
import { quote } from "../flags/go-text.js";

export function usagePage(program: string, purpose: string, set: FlagSet): string {
  return `${purpose}\n\nUsage:\n  ${program} [flags]\n\nFlags:\n${flagUsages(set.flags)}`;
}

/** Upstream ignores such words silently, which hides `--enable-profiling false` (that is: true). */
export function ignoredWords(words: readonly string[]): string[] {
  return words.map(
    (word) => `${quote(word)} belongs to no flag and is ignored; write --flag=${word} if it was meant as a value`,
  );
}
