/** What --help prints, and what is said about words that are no flags. */
import { flagUsages } from "../flags/flag-help.js";
import type { FlagSet } from "../flags/flag-set.js";

export function usagePage(program: string, purpose: string, set: FlagSet): string {
  return `${purpose}\n\nUsage:\n  ${program} [flags]\n\nFlags:\n${flagUsages(set.flags)}`;
}
