import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../base/testing/eventually.js";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { type WorkOutcome, WorkQueue, type WorkQueueOptions } from "./work-queue.js";

let clock: ManualClock;
let done: string[];
let queue: WorkQueue;
let answer: (key: string) => WorkOutcome | Promise<WorkOutcome>;

function start(options: Partial<WorkQueueOptions> = {}): void {
  queue = new WorkQueue({
    clock,
    work: async (key) => {
      done.push(key);
      return answer(key);
    },
    ...options,
  });
}

beforeEach(() => {
  clock = new ManualClock();
  done = [];
  answer = () => "wait";
  start();
});

afterEach(() => queue.stop());

describe("the queue of pools", () => {
  test("works once on a key that is added a thousand times", async () => {
    for (let i = 0; i < 1000; i++) queue.add(i % 2 === 0 ? "a" : "b");
    await eventually(() => expect(done).toEqual(["a", "b"]));
    expect(queue.length).toBe(0);
  });

  test("works again on a key that was added while it was worked on, and never on two keys at a time", async () => {
    let release = () => {};
    answer = () =>
      new Promise<WorkOutcome>((resolve) => {
        release = () => resolve("wait");
      });
    queue.add("a");
    await eventually(() => expect(done).toEqual(["a"]));
    for (let i = 0; i < 5; i++) queue.add("a");
    queue.add("b");
    await Promise.resolve();
    expect(done).toEqual(["a"]);
    release();
    await eventually(() => expect(done).toEqual(["a", "a"]));
    release();
    await eventually(() => expect(done).toEqual(["a", "a", "b"]));
    release();
  });

  test("repeats failures after 1, 2, 4, 8 and then every 10 seconds, and starts over after a success", async () => {
    const delays: number[] = [];
    answer = () => (done.length > 6 ? "wait" : "retry");
    queue.add("a");
    for (let count = 1; count <= 6; count++) {
      await eventually(() => expect([done.length, clock.waiting.length]).toEqual([count, 1]));
      delays.push(clock.waiting[0]!);
      clock.advance(clock.waiting[0]!);
    }
    expect(delays).toEqual([1000, 2000, 4000, 8000, 10_000, 10_000]);
    await eventually(() => expect(done.length).toBe(7));
    answer = () => "retry";
    queue.add("a");
    await eventually(() => expect(clock.waiting).toEqual([1000]));
  });

  test("counts a worker that throws as a failure", async () => {
    answer = () => Promise.reject(new Error("no"));
    queue.add("a");
    await eventually(() => expect(clock.waiting).toEqual([1000]));
  });

  test("works on a key again at the given time, or sooner when it is added", async () => {
    answer = () => clock.date() + 60_000;
    queue.add("a");
    await eventually(() => expect(clock.waiting).toEqual([60_000]));
    queue.add("a");
    await eventually(() => expect(done).toEqual(["a", "a"]));
    await eventually(() => expect(clock.waiting).toEqual([60_000]));
    clock.advance(60_000);
    await eventually(() => expect(done).toEqual(["a", "a", "a"]));
  });

  test("starts nothing after it was stopped", async () => {
    queue.add("a");
    await queue.stop();
    queue.add("b");
    await Promise.resolve();
    expect(done.filter((key) => key === "b")).toEqual([]);
    expect(clock.waiting).toEqual([]);
  });
});
