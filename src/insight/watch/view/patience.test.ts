import { expect, test } from "vitest";
import { isSilent, retryAfterMs } from "./patience.js";

test("retries come slower and slower, but never so slow that somebody waits", () => {
  expect([0, 1, 2, 3, 4, 5000].map(retryAfterMs)).toEqual([1000, 2000, 4000, 5000, 5000, 5000]);
});

test("a stream says every 15 s that it lives; three times that is silence", () => {
  expect(isSilent(0, 31_000)).toBe(false);
  expect(isSilent(0, 45_001)).toBe(true);
});
