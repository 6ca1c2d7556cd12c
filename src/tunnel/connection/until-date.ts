import type { Clock } from "./clock.js";

/** Looked at again this often: hosts' clocks are set, and timers cannot be longer than some days. */
const LOOK_AGAIN_MS = 60 * 60_000;

/** Calls `act` at a date of the calendar; the answer calls it off. */
export function untilDate(clock: Clock, date: Date, act: () => void, calendar: () => number = Date.now): () => void {
  let cancel = (): void => {};
  const look = (): void => {
    const left = date.getTime() - calendar();
    if (left <= 0) act();
    else cancel = clock.after(Math.min(left, LOOK_AGAIN_MS), look);
  };
  look();
  return () => cancel();
}
