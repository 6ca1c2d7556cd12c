import type { Ends } from "../errand.js";
import { carry } from "./bulk.js";
import { part } from "./part.js";
import { KIB, type Scenario } from "./scenario.js";

/** There and back. */
export async function exchange({ caller, endpoint }: Ends, bytes: number): Promise<void> {
  await carry(caller, endpoint, bytes);
  await carry(endpoint, caller, bytes);
}

/** A question, an answer, goodbye: what most webhook calls are. */
export const short: Scenario = async (errand) => {
  const ends = await errand.open();
  await exchange(ends, errand.random.magnitude(16, 16 * KIB));
  await part(ends, errand.random);
};
