/** The demo's stories: which one is told, what it needs, and what its calls must say. The long ones are for people to run. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { conclude, concludeKill } from "../../demo/hosted/conclusions.js";
import { requireMeans } from "../../demo/lab-story.js";
import { HELP, parseOptions } from "../../demo/options.js";
import type { Show } from "../../demo/report/show.js";
import type { Call } from "../support/hosted-cluster/traffic/calls.js";
import type { Report } from "../support/hosted-cluster/traffic/report.js";

afterEach(() => vi.restoreAllMocks());

test("a story is chosen by its flag, and two of them are refused", () => {
  expect(parseOptions([])?.story).toBeUndefined();
  for (const story of ["bootstrap", "hosted", "nodes"]) {
    expect(parseOptions([`--${story}`])?.story).toBe(story);
    expect(HELP).toContain(`--${story} `);
  }
  expect(() => parseOptions(["--nodes", "--hosted"])).toThrow("--hosted and --nodes are two stories: choose one");
});

test("a story in a lab says in one sentence that it needs root", async () => {
  vi.spyOn(process, "getuid").mockReturnValue(1000);
  await expect(requireMeans("--hosted", { bridge: true })).rejects.toThrow(/^--hosted makes hosts .* run it as root$/);
});

describe("the story of a hosted cluster", () => {
  const failure = (kind: string, at: number): Call => ({ kind, at, tookMs: 20, said: "refused" });
  const reportOf = (failed: Call[], apart: Call[] = []): Report => ({
    write: { served: 40, failed, apart: [], longestMs: 20 },
    exec: { served: 2, failed: [], apart, longestMs: 3_200 },
  });

  function audience() {
    const seen = { notes: [] as string[], result: "", figures: {} };
    const show: Show = {
      note: (line) => seen.notes.push(line),
      result: (line) => {
        seen.result = line;
      },
      figures: (figures) => {
        seen.figures = figures;
      },
    };
    return { seen, show };
  }

  test("passes a planned change when no call failed but sessions on what was taken away", () => {
    const { seen, show } = audience();
    conclude(reportOf([], [failure("exec", 1_200)]), 1_000, show);
    expect(seen.result).toBe("42 calls served, 0 failed; sessions cut on a pod that went: 1");
    expect(seen.figures).toEqual({ served: 42, failed: 0 });
  });

  test("fails at one failed call of a planned change, in its words", () => {
    const { seen, show } = audience();
    expect(() => conclude(reportOf([failure("write", 3_500)]), 1_000, show)).toThrow("42 calls served, 1 failed");
    expect(seen.notes).toContain("write after 2.50 s, 20 ms: refused");
  });

  test("forgives a kill the calls of its first second, and none later", () => {
    const at = { markedAt: 1_000, killedAt: 5_000 };
    const { seen, show } = audience();
    concludeKill(reportOf([failure("write", 4_990), failure("write", 6_000)]), at, show);
    expect(seen.result).toBe("42 calls served, 2 failed of those on their way, 0 that began later");
    const late = reportOf([failure("write", 4_990), failure("write", 6_001)]);
    expect(() => concludeKill(late, at, show)).toThrow("1 failed that began more than a second later");
  });
});
