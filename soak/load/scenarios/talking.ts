import type { Ends } from "../job.js";
import { carry } from "./bulk.js";
import { part } from "./part.js";
import { KIB, type Scenario } from "./scenario.js";

/** There and back. */
export async function exchange({ caller, endpoint }: Ends, bytes: number): Promise<void> {
  await carry(caller, endpoint, bytes);
  await carry(endpoint, caller, bytes);
}

/** A question, an answer, a close: what most webhook calls are. */
export const short: Scenario = async (job) => {
  const ends = await job.open();
  await exchange(ends, job.random.magnitude(16, 16 * KIB));
  await part(ends, job.random);
};
