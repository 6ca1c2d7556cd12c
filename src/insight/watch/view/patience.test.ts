import { expect, test } from "vitest";
import { isSilent, retryAfterMs } from "./patience.js";

test("retries are delayed more and more, up to a few seconds", () => {
  expect([0, 1, 2, 3, 4, 5000].map(retryAfterMs)).toEqual([1000, 2000, 4000, 5000, 5000, 5000]);
});

test("a stream is silent after three missed alive events", () => {
  expect(isSilent(0, 31_000)).toBe(false);
  expect(isSilent(0, 45_001)).toBe(true);
});
