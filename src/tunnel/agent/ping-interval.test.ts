import { describe, expect, test } from "vitest";
import { pingInterval } from "./connect.js";

describe("how often an agent pings", () => {
  test.each([
    [3_600_000, true, 35_000],
    [3_600_000, false, 35_000],
    [20_000, true, 20_000],
    [20_000, false, 31_000],
    [1_000, true, 10_000],
  ])("--keepalive-time of %i ms, drawbridge %s: every %i ms", (configured, extended, expected) => {
    expect(pingInterval(configured, extended)).toBe(expected);
  });
});
