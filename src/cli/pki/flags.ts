/** What the pki commands have in common. */
import { DrawbridgeError } from "../../base/errors/error.js";
import type { PkiManifest } from "../../tunnel/pki/manifest.js";
import { choice } from "../flags/choice.js";
import { type Flag, FlagSet } from "../flags/flag-set.js";
import { boolean, duration, string } from "../flags/flag-value.js";
import type { GoDuration } from "../flags/go-duration.js";
import { quote } from "../flags/go-text.js";
import { runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import { MISUSE } from "../framework/subcommands.js";

export interface PkiCommand<Flags> {
  readonly purpose: string;
  /** What stands behind the flags in --help. */
  readonly words?: string;
  declare(set: FlagSet): Flags;
  /** Resolves to the exit code. */
  run(flags: Flags, words: readonly string[]): Promise<number>;
}

export function runPkiCommand<Flags>(
  program: string,
  argv: readonly string[],
  { purpose, words: operands = "", declare, run }: PkiCommand<Flags>,
): Promise<number> {
  const parse = (words: readonly string[]) => {
    const set = new FlagSet();
    const help = set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" });
    const flags = declare(set);
    const { positional, warnings } = set.parse(words);
    if (help.value) return { help: usagePage(`${program}${operands}`, purpose, set) };
    return { config: { flags, positional }, logging: { verbosity: 0, format: "text" }, warnings } as const;
  };
  return runRole({ parse, run: ({ flags, positional }) => run(flags, positional) }, program, argv, { misuse: MISUSE });
}

export const addDir = (set: FlagSet): Flag<string> =>
  set.add("dir", string, "", "Directory of the certificates. Required.");

export const addOutput = (set: FlagSet): Flag<"text" | "json" | undefined> =>
  set.add("output", choice("text", "json"), undefined, "For people or for scripts. If empty, text.");

export const addFor = (set: FlagSet, usage: string): Flag<GoDuration> => set.add("for", duration, 0n, usage);

export function refused(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_FLAG_VALUE", sentence);
}

export function requiredDir(flag: Flag<string>): string {
  if (flag.value === "") throw refused("--dir is missing: the directory of the certificates");
  return flag.value;
}

export function refuseWords([word]: readonly string[]): void {
  if (word !== undefined) throw refused(`${quote(word)} belongs to no flag`);
}

/** Undefined when not given. Certificates outlive what Node's timers can hold, so this is plain arithmetic. */
export function lifetimeMs(flag: Flag<GoDuration>): number | undefined {
  if (!flag.changed) return undefined;
  if (flag.value < 60_000_000_000n) throw refused(`--${flag.name} must be at least one minute`);
  return Number(flag.value / 1_000_000n);
}

/** What was made and until when, one line each. */
export function listed({ signers, leaves }: PkiManifest, names?: readonly string[]): string {
  const entries = [...signers, ...leaves].filter(({ name }) => names === undefined || names.includes(name));
  const width = Math.max(0, ...entries.map(({ name }) => name.length));
  return entries
    .map((entry) => {
      const subjectNames = "use" in entry ? [...entry.ipAddresses, ...entry.dnsNames].join(", ") : "";
      const what = "use" in entry ? entry.use : "signer";
      const forWhom = subjectNames === "" ? "" : ` for ${subjectNames}`;
      return `  ${entry.name.padEnd(width)}  ${what}${forWhom}, until ${entry.notAfter}\n`;
    })
    .join("");
}
