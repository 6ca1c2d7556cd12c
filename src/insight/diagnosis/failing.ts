/** Whether a target fails now, by the dials of the last ten minutes: for the checks, and for the colours of the page. */
import type { DialHistory } from "../observe/admin/contract.js";

/** The latest steps with a dial decide. */
const LATEST_STEPS = 6;
/** Below this share of its latest dials a target is not said to fail. */
const LEAST_SHARE = 0.1;

/** For so many steps a single failed dial counts; one mistyped target must not worry anybody for ten minutes. */
const SINGLE_STEPS = 6;

/** What share of the latest dials failed; zero when that is too little to speak of. */
export function failingShare({ dials, failures }: Pick<DialHistory, "dials" | "failures">): number {
  let [asked, failed, steps, lastFailed] = [0, 0, 0, -1];
  for (let at = dials.length - 1; at >= 0 && steps < LATEST_STEPS; at--) {
    if (dials[at] === 0) continue;
    steps++;
    asked += dials[at]!;
    failed += failures[at]!;
    if (failures[at]! > 0) lastFailed = Math.max(lastFailed, at);
  }
  if (failed === 1 && lastFailed < dials.length - SINGLE_STEPS) return 0;
  const share = asked === 0 ? 0 : failed / asked;
  return share < LEAST_SHARE ? 0 : share;
}
