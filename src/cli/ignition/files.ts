/** What the ignition commands have in common: flags, reading configs, printing. */
import { open } from "node:fs/promises";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { choice } from "../flags/choice.js";
import { type Flag, FlagSet } from "../flags/flag-set.js";
import { boolean } from "../flags/flag-value.js";
import { runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import { MISUSE } from "../framework/subcommands.js";

export interface IgnitionCommand<Flags> {
  readonly purpose: string;
  /** What stands behind the flags in --help. */
  readonly words: string;
  /** How many files it takes. */
  readonly files: { readonly from: number; readonly to: number };
  declare(set: FlagSet): Flags;
  /** Resolves to the exit code. */
  run(flags: Flags & { readonly output: Flag<"text" | "json" | undefined> }, files: readonly string[]): Promise<number>;
}

export function runIgnitionCommand<Flags>(
  program: string,
  argv: readonly string[],
  { purpose, words, files, declare, run }: IgnitionCommand<Flags>,
): Promise<number> {
  const parse = (arguments_: readonly string[]) => {
    const set = new FlagSet();
    const help = set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" });
    const output = set.add("output", choice("text", "json"), undefined, "For people or for scripts. If empty, text.", {
      shorthand: "o",
    });
    const flags = { ...declare(set), output };
    const { positional, warnings } = set.parse(arguments_);
    if (help.value) return { help: usagePage(`${program} ${words}`, purpose, set) };
    if (positional.length < files.from || positional.length > files.to)
      throw new DrawbridgeError("DB_FLAG_VALUE", `${counted(files)} needed: ${program} ${words}`);
    return { config: { flags, positional }, logging: { verbosity: 0, format: "text" }, warnings } as const;
  };
  return runRole({ parse, run: ({ flags, positional }) => run(flags, positional) }, program, argv, { misuse: MISUSE });
}

function counted({ from, to }: { readonly from: number; readonly to: number }): string {
  const number = ["no file is", "one file is", "two files are"][from];
  return from === to ? String(number) : `at least ${number}`;
}

/** One more byte than a config may have is enough to refuse it. */
const MOST_BYTES = 50 * 1024 * 1024 + 1;

/** `-` is standard input. Throws DB_IGNITION_CONFIG. */
export async function readConfigFile(path: string): Promise<Buffer> {
  try {
    return path === "-" ? await fromStdin() : await fromFile(path);
  } catch (error) {
    throw new DrawbridgeError("DB_IGNITION_CONFIG", `${nameOf(path)} cannot be read: ${messageOf(error)}`);
  }
}

export const nameOf = (path: string): string => (path === "-" ? "standard input" : path);

async function fromFile(path: string): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    return await upToLimit(file.createReadStream({ autoClose: false }));
  } finally {
    await file.close();
  }
}

const fromStdin = (): Promise<Buffer> => upToLimit(process.stdin);

async function upToLimit(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= MOST_BYTES) break;
  }
  return Buffer.concat(chunks);
}

export function print(output: "text" | "json" | undefined, value: object, text: () => string): void {
  process.stdout.write(output === "json" ? `${JSON.stringify(value, undefined, 2)}\n` : text());
}
