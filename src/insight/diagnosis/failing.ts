/** Whether a target fails now, by the dials of the last ten minutes: for the checks, and for the colours of the page. */
import type { DialHistory, TargetHistory } from "../observe/admin/contract.js";

/** The latest steps decide, as many as it takes for so many dials. */
const LATEST_DIALS = 5;
const LATEST_STEPS = 6;
/** Below this share of its latest dials a target is not said to fail. */
const LEAST_SHARE = 0.1;
/** Steps after which a target that nobody dials any more worries nobody; after a single failed dial sooner. */
const KEPT_STEPS = 18;
const KEPT_STEPS_OF_ONE = 6;
/** One that answers again once was repaired; one that does so more often comes and goes. */
const COMES_AND_GOES = 2;

type Dials = Pick<DialHistory, "dials" | "failures">;

/** `unknown`: its last dials failed, and nobody has dialled it since. */
export type TargetState = "answers" | "unknown" | "fails at times" | "fails";

/** One whose last dial was established answers, unless it comes and goes. */
export function targetState(target: Dials & Pick<TargetHistory, "failingSinceAt" | "recoveries">): TargetState {
  const { failingSinceAt, recoveries = 0 } = target;
  if (failingSinceAt === undefined && recoveries < COMES_AND_GOES) return "answers";
  const { share, isOld } = latest(target);
  if (share < LEAST_SHARE) return "answers";
  if (isOld) return failingSinceAt === undefined ? "answers" : "unknown";
  return failingSinceAt === undefined || share <= 0.5 ? "fails at times" : "fails";
}

export const isFailing = (target: TargetHistory): boolean => targetState(target).startsWith("fails");

/** What share of the latest dials failed; zero when that is too little to speak of, or too long ago. */
export function failingShare(dials: Dials): number {
  const { share, isOld } = latest(dials);
  return isOld || share < LEAST_SHARE ? 0 : share;
}

function latest({ dials, failures }: Dials): { readonly share: number; readonly isOld: boolean } {
  let [asked, failed, steps, lastFailed] = [0, 0, 0, -1];
  for (let at = dials.length - 1; at >= 0 && steps < LATEST_STEPS && asked < LATEST_DIALS; at--) {
    if (dials[at] === 0) continue;
    steps++;
    asked += dials[at]!;
    failed += failures[at]!;
    if (failures[at]! > 0) lastFailed = Math.max(lastFailed, at);
  }
  const isOld = lastFailed < dials.length - (failed === 1 ? KEPT_STEPS_OF_ONE : KEPT_STEPS);
  return { share: asked === 0 ? 0 : failed / asked, isOld };
}
