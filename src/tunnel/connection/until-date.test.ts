import { expect, test } from "vitest";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { untilDate } from "./until-date.js";

const HOUR = 60 * 60_000;

test("the action for a date months away runs once", () => {
  const clock = new ManualClock();
  let times = 0;
  const end = new Date(clock.date() + 100 * 24 * HOUR);
  untilDate(clock, end, () => times++);
  clock.advance(100 * 24 * HOUR - 1);
  expect(times).toBe(0);
  clock.advance(1);
  clock.advance(10 * HOUR);
  expect(times).toBe(1);
});

test("a clock that was set forward is noticed within the hour", () => {
  const clock = new ManualClock();
  let set = 0;
  let over = false;
  const stepped = { now: () => clock.now(), date: () => clock.date() + set, after: clock.after.bind(clock) };
  untilDate(stepped, new Date(clock.date() + 50 * HOUR), () => {
    over = true;
  });
  set = 60 * HOUR;
  clock.advance(HOUR);
  expect(over).toBe(true);
});

test("a date whose action was cancelled brings nothing", () => {
  const clock = new ManualClock();
  let over = false;
  const cancel = untilDate(clock, new Date(clock.date() + 3 * HOUR), () => {
    over = true;
  });
  clock.advance(2 * HOUR);
  cancel();
  clock.advance(5 * HOUR);
  expect(over).toBe(false);
});
