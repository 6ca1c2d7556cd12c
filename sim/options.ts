import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { outputOf, positive } from "../test/support/command/flags.js";

export interface SimOptions {
  /** Seeds in a row, from `from` on; 0: none of them. */
  readonly seeds: number;
  readonly from: number;
  /** Seeds that nobody has chosen, besides those. */
  readonly fresh: number;
  /** This one alone. */
  readonly seed: number | undefined;
  readonly trace: boolean;
  /** The least world in which the seed still fails, instead of the seed's own. */
  readonly shrunk: boolean;
  /** Every planted bug has to be found. */
  readonly mutants: boolean;
  /** Names or beginnings of names of planted bugs. */
  readonly mutant: readonly string[];
  readonly jobs: number;
  readonly minutes: number;
  readonly keepGoing: boolean;
  readonly output: "text" | "json";
  readonly write: boolean;
}

const SEEDS = 10_000;
/** A planted bug that needs more has not been found. */
const MUTANT_SEEDS = 20_000;

export const HELP = `npm run sim -- [flags]

Runs servers, agents, callers and endpoints as they are shipped in simulated worlds: one process, virtual time, sockets
that are made of memory. A seed decides on everything in its world. The first property that does not hold ends the run
with exit code 1, the seed and the least world that still shows it.

  --seeds N        so many seeds in a row (default ${SEEDS})
  --from N         the first of them (default 1)
  --fresh N        so many seeds that were never tried, besides those of --seeds if that is given; the first is printed
  --seed N         this seed alone
  --trace          with --seed: every event of its world
  --shrunk         with --seed: the least world in which it still fails, instead of its own
  --mutants        plants one bug after the other in a copy of the source; each has to be found within ${MUTANT_SEEDS} seeds
  --mutant NAMES   with --mutants or --seed: only these bugs, comma-separated; a beginning stands for all that begin so
  --jobs N         threads that run worlds (default: one for each processor)
  --minutes N      the run fails when it takes longer (default 60)
  --keep-going     go on after a failure, and count them by property
  --output json    the result as JSON on standard output (progress stays on standard error)
  --write          also write the summary, or with --mutants their table, into docs/reliability.md
  --list           name the planted bugs and end
  --help           this text
`;

/** What to do, or the wish for a text. Throws a sentence. */
export function parseOptions(argv: readonly string[]): SimOptions | "help" | "list" {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seeds: { type: "string" },
      from: { type: "string", default: "1" },
      fresh: { type: "string" },
      seed: { type: "string" },
      trace: { type: "boolean", default: false },
      shrunk: { type: "boolean", default: false },
      mutants: { type: "boolean", default: false },
      mutant: { type: "string", multiple: true },
      jobs: { type: "string", default: String(availableParallelism()) },
      minutes: { type: "string", default: "60" },
      "keep-going": { type: "boolean", default: false },
      output: { type: "string", default: "text" },
      write: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  if (values.list) return "list";
  if (values.seed === undefined && (values.trace || values.shrunk))
    throw new Error("--trace and --shrunk are for one world: they need --seed.");
  const mutant = (values.mutant ?? []).flatMap((names) => names.split(",")).filter((name) => name !== "");
  if (mutant.length > 0 && !values.mutants && values.seed === undefined)
    throw new Error("--mutant chooses planted bugs: it needs --mutants or --seed.");
  const usual = values.mutants ? MUTANT_SEEDS : values.fresh === undefined ? SEEDS : 0;
  return {
    seeds: values.seeds === undefined ? usual : positive("seeds", values.seeds, true),
    from: positive("from", values.from, true),
    fresh: values.fresh === undefined ? 0 : positive("fresh", values.fresh, true),
    seed: values.seed === undefined ? undefined : positive("seed", values.seed, true),
    trace: values.trace,
    shrunk: values.shrunk,
    mutants: values.mutants,
    mutant,
    jobs: positive("jobs", values.jobs, true),
    minutes: positive("minutes", values.minutes),
    keepGoing: values["keep-going"],
    output: outputOf(values.output),
    write: values.write,
  };
}
