import { expect, test } from "vitest";
import { durationText, rateText } from "./format.js";
import { minuteTicks, ticks } from "./ticks.js";

test.each([0, 0.01, 0.3, 1, 1.4, 2, 3.7, 9.9, 12, 99, 340, 999, 1001, 4200, 29_000, 61_000, 600_000])(
  "no two lines of an axis up to %d ms read alike, and the highest is not below it",
  (high) => {
    const all = ticks(high, "ms");
    expect(new Set(all.map(durationText)).size).toBe(all.length);
    expect(all.at(-1)).toBeGreaterThanOrEqual(high);
    expect(all.length).toBeLessThanOrEqual(6);
  },
);

test.each([0, 1, 700, 1000, 1025, 99_000, 1_048_577, 3.9e6, 8e9])("nor do those up to %d bytes a second", (high) => {
  const all = ticks(high, "bytes");
  expect(new Set(all.map(rateText)).size).toBe(all.length);
  expect(all.at(-1)).toBeGreaterThanOrEqual(high);
  expect(all.length).toBeLessThanOrEqual(6);
});

test("time is marked at full minutes", () => {
  expect(minuteTicks(1000, 600, 120)).toEqual([480, 600, 720, 840, 960]);
});
