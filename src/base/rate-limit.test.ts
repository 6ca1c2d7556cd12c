import { describe, expect, test } from "vitest";
import { RateLimit } from "./rate-limit.js";
import { ManualClock } from "./testing/manual-clock.js";

describe("RateLimit", () => {
  test("lets a burst through and spaces what follows", () => {
    const limit = new RateLimit(new ManualClock(), 10, 3);
    expect([1, 2, 3, 4, 5].map(() => limit.reserve(1000))).toEqual([0, 0, 0, 100, 200]);
  });

  test("recovers with time, never beyond the burst", () => {
    const clock = new ManualClock();
    const limit = new RateLimit(clock, 10, 2);
    limit.reserve(0);
    limit.reserve(0);
    clock.advance(60_000);
    expect([1, 2, 3].map(() => limit.reserve(1000))).toEqual([0, 0, 100]);
  });

  test("refuses what would have to wait too long, without letting it cost anything", () => {
    const limit = new RateLimit(new ManualClock(), 1, 1);
    limit.reserve(0);
    expect(limit.reserve(999)).toBeUndefined();
    expect(limit.reserve(1000)).toBe(1000);
  });

  test("is off below zero and has defaults at zero", () => {
    const off = new RateLimit(new ManualClock(), -1, 0);
    const standard = new RateLimit(new ManualClock(), 0, 0);
    for (let sent = 0; sent < 40; sent++) expect([off.reserve(0), standard.reserve(0)]).toEqual([0, 0]);
    expect([off.reserve(0), standard.reserve(0)]).toEqual([0, undefined]);
  });
});
