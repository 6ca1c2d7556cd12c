import { expect, test } from "vitest";
import { IdleTimer } from "./idle-timer.js";
import { ManualClock } from "./testing/manual-clock.js";

const IDLE_MS = 8_000;

function started() {
  const clock = new ManualClock();
  let idle = 0;
  const timer = new IdleTimer(clock, IDLE_MS, () => idle++);
  return { clock, timer, idle: () => idle };
}

test("it fires once when nothing has moved for the time", () => {
  const { clock, idle } = started();
  clock.advance(IDLE_MS - 1);
  expect(idle()).toBe(0);
  clock.advance(1);
  expect([idle(), clock.waiting]).toEqual([1, []]);
});

test("after the last movement it waits at least the time, and an eighth more at most", () => {
  const { clock, timer, idle } = started();
  for (let moves = 0; moves < 100; moves++) {
    clock.advance(IDLE_MS - 1);
    timer.moved = true;
  }
  clock.advance(IDLE_MS - 1);
  expect(idle()).toBe(0);
  clock.advance(IDLE_MS / 8 + 1);
  expect(idle()).toBe(1);
});

test("it never fires once it is cancelled", () => {
  const { clock, timer, idle } = started();
  clock.advance(IDLE_MS / 2);
  timer.cancel();
  clock.advance(IDLE_MS);
  expect([idle(), clock.waiting]).toEqual([0, []]);
});
