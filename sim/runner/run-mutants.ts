/** Plants one bug after the other and plays seeds until a property does not hold. */
import type { Mutant } from "../mutants/mutant.js";
import type { Bundles } from "./bundle.js";
import { runSeeds } from "./run-seeds.js";
import type { SeedFailure } from "./serve.js";
import { Thread } from "./thread.js";

export interface MutantResult {
  readonly mutant: Mutant;
  /** Played until it was found, or in all. */
  readonly seeds: number;
  readonly found: SeedFailure | undefined;
}

export interface MutantOptions {
  readonly mutants: readonly Mutant[];
  readonly bundles: Bundles;
  readonly from: number;
  readonly seeds: number;
  readonly jobs: number;
  readonly onResult: (result: MutantResult) => void;
  /** Whether there is time for another batch. */
  readonly goesOn: () => boolean;
}

export async function runMutants(options: MutantOptions): Promise<readonly MutantResult[]> {
  const { mutants, bundles, jobs, onResult } = options;
  const sound = await bundles.make();
  const results = new Map<Mutant, MutantResult>();
  const queue = [...mutants];
  const work = async (): Promise<void> => {
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const result = await hunt(mutant, sound, options);
      results.set(mutant, result);
      onResult(result);
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return mutants.map((mutant) => results.get(mutant)!);
}

/** A seed that fails without the bug, too, has not found it. */
async function hunt(mutant: Mutant, sound: string, options: MutantOptions): Promise<MutantResult> {
  const { bundles, from, seeds, goesOn } = options;
  const threads = [new Thread(await bundles.make(mutant))];
  const soundThreads = [new Thread(sound)];
  try {
    for (let done = 0; ; ) {
      const ranges = [{ from: from + done, count: seeds - done }];
      const tally = await runSeeds({ threads, ranges, keepGoing: false, onProgress: goesOn });
      done += tally.seeds;
      const [found] = tally.failures;
      if (found === undefined) return { mutant, seeds: done, found };
      const alone = [{ from: found.seed, count: 1 }];
      const { failures } = await runSeeds({
        threads: soundThreads,
        ranges: alone,
        keepGoing: true,
        onProgress: goesOn,
      });
      if (failures.length === 0) return { mutant, seeds: done, found };
    }
  } finally {
    await Promise.all([...threads, ...soundThreads].map((thread) => thread.end()));
  }
}
