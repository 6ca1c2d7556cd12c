/** Plays one world and judges how it ended. */

import type { Outcome, RunOptions } from "../types.js";

/** Worlds that are plain data, made of a number, and the play of one. */
export interface Model<S> {
  scenarioOf(seed: number): S;
  runScenario(scenario: S, options: RunOptions): Promise<Outcome>;
}

export const NO_EXCEPTION = "no exception is left uncaught";
export const SAME_TRACE = "the same seed gives the same events";

/** How often a seed is played twice: often enough that whatever is not decided by the seed shows soon. */
const TWICE_EVERY = 16;
export const isPlayedTwice = (seed: number): boolean => seed % TWICE_EVERY === 0;

/**
 * An exception that nobody catches ends the play that is under way, unless the world itself has noticed it and ends at
 * once. A thread plays one world at a time.
 */
let onUncaught: (reason: unknown) => void = () => {};
export function catchUncaught(): void {
  process.on("uncaughtException", (reason) => onUncaught(reason));
  process.on("unhandledRejection", (reason) => onUncaught(reason));
}

export async function play<S>(model: Model<S>, scenario: S, trace?: (line: string) => void): Promise<Outcome> {
  const uncaught = new Promise<never>((_, reject) => {
    onUncaught = (reason) => setImmediate(() => reject(reason));
  });
  try {
    return await Promise.race([model.runScenario(scenario, trace === undefined ? {} : { trace }), uncaught]);
  } catch (reason) {
    const message = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
    return { events: 0, virtualMs: 0, hash: "", failure: { property: NO_EXCEPTION, message, atMs: 0 } };
  } finally {
    onUncaught = () => {};
  }
}

/** The same, played a second time if it is to be shown that nothing but the seed decides. */
export async function playSeed<S>(model: Model<S>, seed: number): Promise<Outcome> {
  const first = await play(model, model.scenarioOf(seed));
  if (first.failure !== undefined || !isPlayedTwice(seed)) return first;
  const second = await play(model, model.scenarioOf(seed));
  if (second.hash === first.hash) return first;
  const message = `${first.events} and then ${second.events} events, with the hashes ${first.hash} and ${second.hash}`;
  return { ...first, failure: { property: SAME_TRACE, message, atMs: 0 } };
}
