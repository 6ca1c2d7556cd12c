/** `npm run sim`: see options.ts for its flags. */

import { randomInt } from "node:crypto";
import { fileURLToPath } from "node:url";
import { writeSection } from "../test/support/command/docs-section.js";
import { runCommand, say } from "../test/support/command/run.js";
import { mutants } from "./mutants/list.js";
import type { Mutant } from "./mutants/mutant.js";
import { HELP, parseOptions, type SimOptions } from "./options.js";
import { byProperty, failureText, mutantLine, mutantTable, progressLine, summary } from "./report/text.js";
import { Bundles } from "./runner/bundle.js";
import { runMutants } from "./runner/run-mutants.js";
import { type Range, runSeeds, type Tally } from "./runner/run-seeds.js";
import type { OneWorld, SeedFailure } from "./runner/serve.js";
import { Thread } from "./runner/thread.js";

const PROGRESS_MS = 5_000;
/** Fresh seeds are behind all that anybody counts to. */
const LEAST_FRESH = 1_000_000_000;
const MOST_FRESH = 2 ** 47;

await runCommand("sim", () => main(parseOptions(process.argv.slice(2))));

async function main(options: SimOptions | "help" | "list"): Promise<number> {
  if (options === "help") process.stdout.write(HELP);
  else if (options === "list") {
    for (const { name, what } of mutants) process.stdout.write(`${name.padEnd(40)}${what}\n`);
  } else {
    const bundles = new Bundles(fileURLToPath(new URL("runner/worker.ts", import.meta.url)));
    if (options.seed !== undefined) return await one(bundles, options.seed, options);
    return options.mutants ? await hunt(bundles, options) : await many(bundles, options);
  }
  return 0;
}

async function one(bundles: Bundles, seed: number, { mutant, shrunk, trace, output }: SimOptions): Promise<number> {
  const chosen = mutant.length === 0 ? [] : chooseMutants(mutant);
  if (chosen.length > 1) throw new Error("--seed goes with one planted bug at most.");
  const thread = new Thread(await bundles.make(chosen[0]));
  const world = await thread.ask("seed", { seed, shrunk, trace });
  const { failure } = world.outcome;
  if (output === "json") print(world);
  else {
    for (const line of world.trace) process.stdout.write(`${line}\n`);
    const { events, virtualMs } = world.outcome;
    say(`sim: ${events} events, ${(virtualMs / 1000).toFixed(1)} s of virtual time`);
    if (failure !== undefined) say(failureText({ seed, ...failure }, shrunk ? world : undefined, chosen[0]?.name));
  }
  return failure === undefined ? 0 : 1;
}

async function many(bundles: Bundles, options: SimOptions): Promise<number> {
  const { seeds, from, fresh, jobs, minutes, keepGoing, output, write } = options;
  const freshFrom = randomInt(LEAST_FRESH, MOST_FRESH);
  if (fresh > 0) say(`sim: ${fresh} fresh seeds from ${freshFrom} (again: --seeds ${fresh} --from ${freshFrom})`);
  const ranges: Range[] = [
    ...(seeds > 0 ? [{ from, count: seeds }] : []),
    ...(fresh > 0 ? [{ from: freshFrom, count: fresh }] : []),
  ];
  const bundle = await bundles.make();
  const threads = Array.from({ length: jobs }, () => new Thread(bundle));
  const began = performance.now();
  const seconds = (): number => (performance.now() - began) / 1000;
  let said = began;
  const onProgress = (tally: Tally): boolean => {
    if (performance.now() - said >= PROGRESS_MS) {
      said = performance.now();
      say(progressLine(tally, seeds + fresh, seconds()));
    }
    return seconds() < minutes * 60;
  };
  const tally = await runSeeds({ threads, ranges, keepGoing, onProgress });
  const took = seconds();
  if (output === "json") print({ ...tally, seconds: took, freshFrom: fresh > 0 ? freshFrom : undefined });
  say(`sim: ${summary(tally, took)}`);
  const [failure] = tally.failures;
  if (keepGoing) for (const line of byProperty(tally.failures)) say(line);
  else if (failure !== undefined) say(failureText(failure, await shrunkWorld(threads[0]!, failure)));
  await Promise.all(threads.map((thread) => thread.end()));
  if (failure !== undefined) return 1;
  if (tally.seeds < seeds + fresh) {
    say(`sim: only ${tally.seeds} of ${seeds + fresh} seeds were played within ${minutes} minutes`);
    return 1;
  }
  if (write) writeDocs("sim-seeds", "--seeds 100000 --write", `${summary(tally, took)}\n`);
  return 0;
}

/** Undefined when it cannot be made smaller: its thread does not survive it. */
async function shrunkWorld(thread: Thread, { seed }: SeedFailure): Promise<OneWorld | undefined> {
  say("sim: a seed failed, looking for the least world that fails in the same way ...");
  const world = await thread.ask("seed", { seed, shrunk: true, trace: false }).catch(() => undefined);
  return world?.outcome.failure === undefined ? undefined : world;
}

async function hunt(bundles: Bundles, options: SimOptions): Promise<number> {
  const { mutant, from, seeds, jobs, minutes, output, write } = options;
  const endsAt = performance.now() + minutes * 60_000;
  const results = await runMutants({
    ...{ mutants: mutant.length === 0 ? mutants : chooseMutants(mutant), bundles, from, seeds, jobs },
    onResult: (result) => say(mutantLine(result)),
    goesOn: () => performance.now() < endsAt,
  });
  const missed = results.filter(({ found }) => found === undefined);
  if (output === "json") print(results.map(({ mutant: { name }, seeds, found }) => ({ name, seeds, found })));
  else process.stdout.write(mutantTable(results));
  say(`sim: ${results.length - missed.length} of ${results.length} planted bugs were found`);
  if (write && mutant.length === 0) writeDocs("sim-mutants", "--mutants --write", mutantTable(results));
  return missed.length === 0 ? 0 : 1;
}

function chooseMutants(names: readonly string[]): readonly Mutant[] {
  for (const each of names) {
    if (!mutants.some(({ name }) => name.startsWith(each))) throw new Error(`there is no bug ${each}: see --list.`);
  }
  const exact = mutants.filter(({ name }) => names.includes(name));
  return exact.length === names.length
    ? exact
    : mutants.filter(({ name }) => names.some((each) => name.startsWith(each)));
}

function writeDocs(name: string, flags: string, text: string): void {
  writeSection({ page: "reliability.md", name, command: `npm run sim -- ${flags}` }, text);
  say("written: docs/reliability.md");
}

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}
