import { afterEach, expect, test, vi } from "vitest";
import { statusText } from "./status.js";

const asked = { role: "server", id: "s1", version: "1.2.3", now: 60_000, startedAt: 0 } as never;

afterEach(() => {
  vi.unstubAllEnvs();
});

test.each([
  ["healthy", "\u001b[1;32mHEALTHY:\u001b[0m"],
  ["degraded", "\u001b[1;33mDEGRADED:\u001b[0m"],
  ["down", "\u001b[1;31mDOWN:\u001b[0m"],
] as const)("%s has its colour where there are colours", (state, shown) => {
  const line = " server s1, drawbridge 1.2.3, up 1 min\n";
  vi.stubEnv("FORCE_COLOR", "1");
  expect(statusText({ process: asked, state, causes: [] })).toBe(shown + line);
  vi.stubEnv("FORCE_COLOR", "0");
  expect(statusText({ process: asked, state, causes: [] })).toBe(`${state.toUpperCase()}:${line}`);
});
