/** A thread that plays worlds for the command: the answers to what runner/thread.ts asks. */
import { parentPort, workerData } from "node:worker_threads";
import type { Failure, Outcome } from "../types.js";
import { catchUncaught, isPlayedTwice, type Model, play, playSeed } from "./play.js";
import { shrink } from "./shrink.js";
import { storyOf } from "./story.js";

/** What a thread is asked. */
export interface Questions {
  /** Plays seeds in a row; stops behind the first that fails, unless it is to go on. */
  seeds: {
    readonly ask: { readonly from: number; readonly count: number; readonly keepGoing: boolean };
    readonly answer: Batch;
  };
  /** Plays one seed, or the least world in which it fails. */
  seed: {
    readonly ask: { readonly seed: number; readonly shrunk: boolean; readonly trace: boolean };
    readonly answer: OneWorld;
  };
}

export interface SeedFailure extends Failure {
  readonly seed: number;
}

export interface Batch {
  readonly seeds: number;
  readonly events: number;
  readonly virtualMs: number;
  /** How many seeds were played a second time. */
  readonly twice: number;
  readonly failures: readonly SeedFailure[];
}

export interface OneWorld {
  readonly outcome: Outcome;
  readonly scenario: unknown;
  /** Worlds that were played to make it smaller. */
  readonly plays: number;
  readonly trace: readonly string[];
  readonly story: readonly string[];
}

/** Shared with the command, which can look at it while the thread is busy: the seed under way, and a count of plays. */
export interface ThreadData {
  readonly progress: Float64Array;
}

export function serve<S extends object>(model: Model<S>): void {
  const { progress } = workerData as ThreadData;
  catchUncaught();
  const noted = (seed: number): void => {
    progress[0] = seed;
    progress[1]!++;
  };
  const answers: { [K in keyof Questions]: (ask: Questions[K]["ask"]) => Promise<Questions[K]["answer"]> } = {
    seeds: async ({ from, count, keepGoing }) => {
      const batch = { seeds: 0, events: 0, virtualMs: 0, twice: 0, failures: [] as SeedFailure[] };
      for (let seed = from; seed < from + count; seed++) {
        noted(seed);
        const { events, virtualMs, failure } = await playSeed(model, seed);
        batch.seeds++;
        batch.events += events;
        batch.virtualMs += virtualMs;
        if (isPlayedTwice(seed)) batch.twice++;
        if (failure !== undefined) batch.failures.push({ seed, ...failure });
        if (failure !== undefined && !keepGoing) break;
      }
      return batch;
    },
    seed: async ({ seed, shrunk, trace: isTraced }) => {
      noted(seed);
      let scenario = model.scenarioOf(seed);
      let plays = 0;
      if (shrunk) {
        const { failure } = await play(model, scenario);
        const stillFails = async (candidate: S): Promise<boolean> => {
          noted(seed);
          return (await play(model, candidate)).failure?.property === failure!.property;
        };
        if (failure !== undefined) ({ scenario, plays } = await shrink(scenario, stillFails));
      }
      const trace: string[] = [];
      const outcome = await play(model, scenario, (line) => trace.push(line));
      const story = outcome.failure === undefined ? [] : storyOf(scenario, trace, outcome.failure);
      return { outcome, scenario, plays, trace: isTraced ? trace : [], story };
    },
  };
  parentPort!.on("message", ([question, ask]: [keyof Questions, never]) => {
    void answers[question](ask).then((answer) => parentPort!.postMessage(answer));
  });
}
