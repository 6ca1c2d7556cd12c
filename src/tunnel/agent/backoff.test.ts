import { describe, expect, test } from "vitest";
import { Backoff } from "./server-set.js";

describe("backoff", () => {
  test("half as much again after each failure, up to the cap, and back on success", () => {
    const backoff = new Backoff(1000, 3000, () => 0);
    expect([backoff.next(), backoff.next(), backoff.next(), backoff.next(), backoff.next()]).toEqual([
      1000, 1500, 2250, 3000, 3000,
    ]);
    expect(backoff.reset()).toBe(1000);
    expect(backoff.next()).toBe(1000);
  });

  test("chance adds a tenth at most", () => {
    expect(new Backoff(1000, 3000, () => 0.999).next()).toBeCloseTo(1099.9);
    expect(new Backoff(1000, 3000, () => 0.5).reset()).toBeCloseTo(1050);
  });

  test("a cap below the first interval is still a cap after it", () => {
    const backoff = new Backoff(1000, 500, () => 0);
    backoff.next();
    expect(backoff.next()).toBe(500);
  });
});
