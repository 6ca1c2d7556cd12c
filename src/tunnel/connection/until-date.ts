import type { Clock } from "../../base/clock.js";

/** Period of the checks: hosts' clocks are set, and timers cannot be longer than some days. */
const LOOK_AGAIN_MS = 60 * 60_000;

/** Calls `act` at a date of the calendar; the returned function cancels it. */
export function untilDate(clock: Clock, date: Date, act: () => void): () => void {
  let cancel = (): void => {};
  const look = (): void => {
    const left = date.getTime() - clock.date();
    if (left <= 0) act();
    else cancel = clock.after(Math.min(left, LOOK_AGAIN_MS), look);
  };
  look();
  return () => cancel();
}
