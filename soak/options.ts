import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { outputOf, positive, withValues } from "../test/support/command/flags.js";
import { SABOTAGES, type Sabotage } from "./sabotage.js";

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: string;
  /** A short run that has every quick fault once. */
  readonly smoke: boolean;
  /** Bulk on average, all tunnels and both directions together. */
  readonly megabytesPerSecond: number;
  readonly output: "text" | "json";
  readonly write: boolean;
  readonly sabotage: Sabotage | undefined;
  /** Instead: so many kills under load. */
  readonly kills?: number;
  /** Instead: so many servers that come or go, counted by leases. */
  readonly scalings?: number;
}

export const HELP = `npm run soak -- [flags]

Mixed load and faults against proxy-server and proxy-agent as shipped: two servers, two agents, real processes, mutual TLS.
Every byte is checked, nothing may get stuck, leak, grow or end unasked. The first violation ends the run with exit code 1.

  --minutes N      how long (default 30)
  --seed S         repeats the plan of an earlier run (default: a new one, printed at the start)
  --smoke          every quick fault once, whatever --minutes says it has to fit in; without --minutes: 0.2
  --rate N         bulk in MB/s on average, all tunnels together (default 80; with --kills 24)
  --kills N        instead, kill servers and agents so many times (SIGKILL, SIGTERM, SIGSTOP and SIGCONT) in the middle of
                   transfers, four pairs side by side, and judge the end of each stream at both ends; without N 1000
  --scalings N     instead, start or end a server so many times, counted by leases in a real kube-apiserver, while clients go
                   on asking through a balancer: no request may be lost; without N 500
  --output json    the summary as JSON on standard output (progress stays on standard error)
  --write          also put the summary into docs/soak.md
  --sabotage WHAT  do something wrong on purpose, to see that the soak notices:
                   ${SABOTAGES.join(", ")}
  --help           this text
`;

/** What to do, or the wish for the text above. Throws a sentence. */
export function parseOptions(argv: readonly string[]): SoakOptions | "help" {
  const { values } = parseArgs({
    args: withValues(argv, { kills: "1000", scalings: "500" }),
    options: {
      minutes: { type: "string" },
      seed: { type: "string" },
      smoke: { type: "boolean", default: false },
      rate: { type: "string" },
      kills: { type: "string" },
      scalings: { type: "string" },
      output: { type: "string", default: "text" },
      write: { type: "boolean", default: false },
      sabotage: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  if (values.kills !== undefined && values.scalings !== undefined)
    throw new Error("--kills and --scalings are two runs: choose one.");
  return {
    minutes: positive("minutes", values.minutes ?? (values.smoke ? "0.2" : "30")),
    seed: values.seed ?? String(randomInt(1_000_000_000)),
    smoke: values.smoke,
    megabytesPerSecond: positive("rate", values.rate ?? (values.kills === undefined ? "80" : "24")),
    ...(values.kills === undefined ? {} : { kills: positive("kills", values.kills, true) }),
    ...(values.scalings === undefined ? {} : { scalings: positive("scalings", values.scalings, true) }),
    output: outputOf(values.output),
    write: values.write,
    sabotage: values.sabotage === undefined ? undefined : sabotageOf(values.sabotage),
  };
}

function sabotageOf(text: string): Sabotage {
  const found = SABOTAGES.find((name) => name === text);
  if (found) return found;
  throw new Error(`--sabotage must be one of ${SABOTAGES.join(", ")}, not ${JSON.stringify(text)}.`);
}
