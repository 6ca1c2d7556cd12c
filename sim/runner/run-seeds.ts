/** Plays many seeds on several threads. */
import type { Batch, SeedFailure } from "./serve.js";
import { type Thread, WorldLost } from "./thread.js";

/** Seeds in a row. */
export interface Range {
  readonly from: number;
  readonly count: number;
}

export interface Tally {
  readonly seeds: number;
  readonly events: number;
  readonly virtualMs: number;
  readonly twice: number;
  readonly failures: readonly SeedFailure[];
}

const NOTHING: Tally = { seeds: 0, events: 0, virtualMs: 0, twice: 0, failures: [] };

export interface RunOptions {
  readonly threads: readonly Thread[];
  readonly ranges: readonly Range[];
  readonly keepGoing: boolean;
  /** After each batch; false ends the run. */
  readonly onProgress: (tally: Tally) => boolean;
}

/** Seeds that a thread is given at once: few enough for progress, so many that asking costs nothing. */
const BATCH = 50;

export async function runSeeds({ threads, ranges, keepGoing, onProgress }: RunOptions): Promise<Tally> {
  const batches = batchesOf(ranges);
  let tally = NOTHING;
  let isOver = false;
  const work = async (thread: Thread): Promise<void> => {
    for (let next = batches.next(); !next.done && !isOver; next = batches.next()) {
      const batch = await playBatch(thread, next.value, keepGoing);
      tally = sum(tally, batch);
      if (!onProgress(tally) || (tally.failures.length > 0 && !keepGoing)) isOver = true;
    }
  };
  await Promise.all(threads.map(work));
  return tally;
}

/** A world that is lost with its thread is a failure of its seed; what the thread knew of those before it is played again. */
async function playBatch(thread: Thread, { from, count }: Range, keepGoing: boolean): Promise<Batch> {
  if (count === 0) return NOTHING;
  try {
    return await thread.ask("seeds", { from, count, keepGoing });
  } catch (reason) {
    if (!(reason instanceof WorldLost)) throw reason;
    const { failure } = reason;
    const before = failure.seed - from;
    const played = await playBatch(thread, { from, count: before }, keepGoing);
    const lost = sum(played, { ...NOTHING, seeds: 1, failures: [failure] });
    if (!keepGoing) return lost;
    return sum(lost, await playBatch(thread, { from: failure.seed + 1, count: count - before - 1 }, keepGoing));
  }
}

function* batchesOf(ranges: readonly Range[]): Generator<Range, undefined> {
  for (const { from, count } of ranges) {
    for (let done = 0; done < count; done += BATCH) yield { from: from + done, count: Math.min(BATCH, count - done) };
  }
  return undefined;
}

function sum(one: Tally, two: Tally): Tally {
  return {
    seeds: one.seeds + two.seeds,
    events: one.events + two.events,
    virtualMs: one.virtualMs + two.virtualMs,
    twice: one.twice + two.twice,
    failures: [...one.failures, ...two.failures],
  };
}
