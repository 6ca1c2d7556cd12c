/** The attacker's process: makes one attack after the other, as its parent says. */
import type { Target } from "../attack.js";
import { attacks } from "../attacks/index.js";
import { answerParent } from "./answer.js";
import { type AttackReport, Work } from "./work.js";

export interface AttackOrder {
  readonly attack: string;
  readonly target: Target;
  readonly ms: number;
  readonly seed: string;
}

answerParent({
  attack: async ({ attack, target, ms, seed }: AttackOrder): Promise<AttackReport> => {
    const work = new Work(ms, seed);
    try {
      await attacks.find(({ name }) => name === attack)!.run(target, work);
    } catch (reason) {
      work.close();
      throw reason;
    }
    return work.close();
  },
});
