import { parseArgs } from "node:util";
import { outputOf, positive, withValues } from "../test/support/command/flags.js";

export interface BenchOptions {
  /** Names or beginnings of names; empty means all. */
  readonly rows: readonly string[];
  readonly rounds: number;
  /** Measured time of one run. */
  readonly seconds: number;
  readonly smoke: boolean;
  /** Instead of rows: this many workers at a time become nodes. */
  readonly nodes: readonly number[];
  /** Instead of rows: what tunnels, agents and bytes cost, up to so many tunnels; a tenth as many agents. */
  readonly growth?: number;
  /** Instead of rows against upstream: rows against other tunnels. */
  readonly peers: boolean;
  /** With peers: names or beginnings of names of tunnels; empty means all. */
  readonly only: readonly string[];
  /** Measure on a busy machine, too. */
  readonly force: boolean;
  readonly output: "text" | "json";
  readonly write: boolean;
}

export const HELP = `npm run bench -- [flags]

Measures drawbridge beside the Go original, interleaved in the same rounds, with every byte checked.

  --rows NAMES     only these rows, comma-separated; a beginning stands for all that begin so (bulk, grpc, scale)
  --rounds N       how often everything is measured (default 3)
  --seconds N      measured time of one run (default 2; with --peers 1)
  --smoke          correctness only, under a minute: bytes intact, stalls isolated, serving again afterwards
  --nodes NUMBERS  instead, that many workers of a pool are created, fetch and become nodes, one number after the other,
                   such as 200,2000 (ten minutes): real etcd, kube-apiserver and signer, machines that are played
  --growth N       instead, what a tunnel, an agent and a byte cost as their number grows to N tunnels, N/10 agents and
                   N/10 MiB, how soon all is served again after all agents were cut at once, which limit is hit first, and
                   what 8 and 64 cores would carry; without N 10000
  --peers          instead, drawbridge and upstream beside other tunnels (rathole, OpenSSH, HAProxy, stunnel, nginx), under
                   ten minutes; what is not installed is named and left out
  --only NAMES     with --peers, only these tunnels, comma-separated; a beginning stands for all that begin so
  --force          measure on a busy machine, too; without it a run waits some minutes for a quiet one, then refuses
  --output json    the result as JSON on standard output (progress stays on standard error)
  --write          also write docs/benchmarks.md and docs/benchmarks.json, which keep the last run of each model of CPU (a
                   run of chosen rows replaces those rows in it), and the table in README.md; with --peers docs/comparison.md, its picture, and the
                   figures in README.md; with --growth its part of docs/speed.md
  --list           name the rows and end
  --help           this text
`;

/** The text to print and end with, or what to do. Throws a sentence. */
export function parseOptions(argv: readonly string[]): BenchOptions | "help" | "list" {
  const { values } = parseArgs({
    args: withValues(argv, { growth: "10000" }),
    options: {
      rows: { type: "string", multiple: true },
      rounds: { type: "string" },
      seconds: { type: "string" },
      smoke: { type: "boolean", default: false },
      nodes: { type: "string", default: "" },
      growth: { type: "string" },
      peers: { type: "boolean", default: false },
      only: { type: "string", multiple: true },
      force: { type: "boolean", default: false },
      output: { type: "string", default: "text" },
      write: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  if (values.list) return "list";
  const { peers, force } = values;
  if (!peers && values.only !== undefined) throw new Error("--only is for --peers.");
  return {
    rows: names(values.rows),
    rounds: positive("rounds", values.rounds ?? "3", true),
    seconds: positive("seconds", values.seconds ?? (peers ? "1" : "2")),
    smoke: values.smoke,
    nodes: values.nodes.split(",").flatMap((text) => (text === "" ? [] : positive("nodes", text, true))),
    ...(values.growth === undefined ? {} : { growth: positive("growth", values.growth, true) }),
    ...{ peers, only: names(values.only), force },
    output: outputOf(values.output),
    write: values.write,
  };
}

const names = (given: readonly string[] = []): string[] =>
  given.flatMap((text) => text.split(",")).filter((name) => name !== "");
