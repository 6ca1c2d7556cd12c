import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { outputOf } from "../test/support/command/flags.js";

export interface AttackOptions {
  /** Names or beginnings of names; empty means all. */
  readonly only: readonly string[];
  readonly short: boolean;
  readonly upstream: boolean;
  readonly seed: string;
  readonly output: "text" | "json";
  readonly write: boolean;
}

export const HELP = `npm run attack -- [flags]

Attacks the programs as shipped, in processes of their own, with raw bytes, beside a victim whose requests must all be
answered in time and a newcomer that must get in. Ends with exit code 1 when an attack was not withstood.

  --only NAMES     only these attacks, comma-separated; a beginning stands for all that begin so
  --short          one short round of each attack, about 3 minutes in all
  --upstream       attack upstream's proxy-server and proxy-agent instead, where an attack can be made on them
  --seed S         repeats the random choices of an earlier run (default: a new one, printed at the start)
  --output json    the result as JSON on standard output (progress stays on standard error)
  --write          also write the table of docs/security.md; with --upstream: its column for upstream
  --list           name the attacks and end
  --help           this text
`;

/** What to do, or the wish for a text. Throws a sentence. */
export function parseOptions(argv: readonly string[]): AttackOptions | "help" | "list" {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: "string", multiple: true },
      short: { type: "boolean", default: false },
      upstream: { type: "boolean", default: false },
      seed: { type: "string" },
      output: { type: "string", default: "text" },
      write: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  if (values.list) return "list";
  return {
    only: (values.only ?? []).flatMap((names) => names.split(",")).filter((name) => name !== ""),
    short: values.short,
    upstream: values.upstream,
    seed: values.seed ?? String(randomInt(1_000_000_000)),
    output: outputOf(values.output),
    write: values.write,
  };
}
