/** How a command with flags and words of its own is declared and run: the families of pools, workers and requests. */
import { DrawbridgeError } from "../../base/errors/error.js";
import { choice } from "../flags/choice.js";
import { type Flag, FlagSet } from "../flags/flag-set.js";
import { boolean } from "../flags/flag-value.js";
import { runRole } from "./command.js";
import { usagePage } from "./help.js";
import { MISUSE } from "./subcommands.js";

export const addOutput = (set: FlagSet): Flag<"text" | "json" | undefined> =>
  set.add("output", choice("text", "json"), undefined, "For people or for scripts. If empty, text.");

export interface PlainCommand<Flags> {
  readonly purpose: string;
  /** What stands behind the flags in --help. */
  readonly words?: string;
  declare(set: FlagSet): Flags;
  /** Throws what runRole takes for misuse. */
  check(flags: Flags, words: readonly string[]): void;
  /** Resolves to the exit code. */
  run(flags: Flags, words: readonly string[]): Promise<number>;
}

export function runPlainCommand<Flags>(program: string, argv: readonly string[], command: PlainCommand<Flags>) {
  const parse = (given: readonly string[]) => {
    const set = new FlagSet();
    const help = set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" });
    const flags = command.declare(set);
    const { positional, warnings } = set.parse(given);
    if (help.value) return { help: usagePage(`${program}${command.words ?? ""}`, command.purpose, set) };
    command.check(flags, positional);
    return { config: { flags, positional }, logging: { verbosity: 0, format: "text" }, warnings } as const;
  };
  return runRole({ parse, run: ({ flags, positional }) => command.run(flags, positional) }, program, argv, {
    misuse: MISUSE,
  });
}

export function refused(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_FLAG_VALUE", sentence);
}

/** For --output json. */
export const json = (value: object): string => `${JSON.stringify(value, undefined, 2)}\n`;
