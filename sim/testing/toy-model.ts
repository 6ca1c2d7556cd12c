/** A model with nothing in it but seeds, parties and a few ways to fail, for the tests of the runner. */
import type { Model } from "../runner/play.js";

export interface Toy {
  readonly seed: number;
  readonly parties: readonly { readonly name: string; readonly bytes: number }[];
  readonly faults: readonly string[];
}

/** What the planted bug of the tests turns on. */
const isBroken = false;

let plays = 0;

export const toyModel: Model<Toy> = {
  scenarioOf: (seed) => ({
    seed,
    parties: Array.from({ length: 6 }, (_, index) => ({ name: `party-${index}`, bytes: 1000 + seed + index })),
    faults: ["cut", "stall", "drain", "jump"],
  }),
  async runScenario({ seed, parties, faults }, { trace }) {
    trace?.(`seed ${seed} begins`);
    for (const fault of faults) trace?.(`fault ${fault}`);
    if (seed === 13) throw new Error("thirteen");
    if (seed === 14) while (true);
    if (seed === 15) setImmediate(() => Promise.reject(new Error("nobody waits")));
    if (seed === 15) await new Promise(() => {});
    const outcome = { events: parties.length, virtualMs: 1000, hash: seed === 16 ? String(++plays) : "same" };
    const fails = isBroken ? seed >= 3 : seed === 17;
    if (!fails || !faults.includes("stall") || !parties.some(({ bytes }) => bytes > 100)) return outcome;
    return { ...outcome, failure: { property: "toys work", message: "one does not", atMs: 12 } };
  },
};
