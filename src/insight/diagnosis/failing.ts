/** Whether a target fails now, by the dials of the last ten minutes: for the checks, and for the colours of the page. */
import type { DialHistory } from "../observe/admin/contract.js";

/** The latest steps decide, as many as it takes for so many dials: a target that answers again does not fail. */
const LATEST_DIALS = 5;
const LATEST_STEPS = 6;
/** Below this share of its latest dials a target is not said to fail. */
const LEAST_SHARE = 0.1;
/** Steps after which a target that nobody dials any more worries nobody; after a single failed dial sooner. */
const KEPT_STEPS = 18;
const KEPT_STEPS_OF_ONE = 6;

/** What share of the latest dials failed; zero when that is too little to speak of, or too long ago. */
export function failingShare({ dials, failures }: Pick<DialHistory, "dials" | "failures">): number {
  let [asked, failed, steps, lastFailed] = [0, 0, 0, -1];
  for (let at = dials.length - 1; at >= 0 && steps < LATEST_STEPS && asked < LATEST_DIALS; at--) {
    if (dials[at] === 0) continue;
    steps++;
    asked += dials[at]!;
    failed += failures[at]!;
    if (failures[at]! > 0) lastFailed = Math.max(lastFailed, at);
  }
  if (lastFailed < dials.length - (failed === 1 ? KEPT_STEPS_OF_ONE : KEPT_STEPS)) return 0;
  const share = asked === 0 ? 0 : failed / asked;
  return share < LEAST_SHARE ? 0 : share;
}
