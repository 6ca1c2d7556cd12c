import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { remedies } from "../../base/errors/catalogue.js";
import { TunnelReadiness } from "./readiness.js";
import { RouteError } from "./routing/errors.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const PACE = { intervalMs: 10_000, timeoutMs: 5_000 };

describe("readiness", () => {
  test("is the result of the last probe, and probes run at intervals only", async () => {
    let failure: Error | undefined;
    const probe = vi.fn(async () => {
      if (failure !== undefined) throw failure;
    });
    const readiness = new TunnelReadiness({}, [["a", { probe }]], PACE);
    expect(readiness.ready).toBe(false);
    readiness.start();
    await vi.advanceTimersByTimeAsync(0);
    expect(readiness.ready).toBe(true);
    for (let i = 0; i < 100; i++) expect(readiness.ready).toBe(true);
    expect(probe).toHaveBeenCalledTimes(1);
    failure = new RouteError("path", "DB_NO_AGENT", "no agent is\n connected.");
    await vi.advanceTimersByTimeAsync(PACE.intervalMs);
    expect(probe).toHaveBeenCalledTimes(2);
    const remedy = remedies.DB_NO_AGENT;
    expect([readiness.ready, readiness.why, readiness.causes]).toEqual([
      false,
      `the last probe through the tunnel failed: no agent is connected (DB_NO_AGENT). ${remedy}`,
      [{ code: "DB_NO_AGENT", sentence: "no agent is connected", remedy }],
    ]);
    failure = undefined;
    await vi.advanceTimersByTimeAsync(PACE.intervalMs);
    expect(readiness.ready).toBe(true);
    readiness.stop("draining");
    expect([readiness.ready, readiness.why, readiness.causes]).toEqual([false, "draining", []]);
    await vi.advanceTimersByTimeAsync(10 * PACE.intervalMs);
    expect(probe).toHaveBeenCalledTimes(3);
  });

  test("is ready only when the probes of all listeners succeed", async () => {
    const broken = { probe: () => Promise.reject(new RouteError("timeout", "DB_DIAL_TIMEOUT", "late")) };
    const readiness = new TunnelReadiness(
      {},
      [
        ["a", { probe: async () => {} }],
        ["b", broken],
      ],
      PACE,
    );
    readiness.start();
    await vi.advanceTimersByTimeAsync(0);
    expect(readiness.why).toContain("DB_DIAL_TIMEOUT");
    readiness.stop("over");
  });

  test("starts no second probe while one is under way", async () => {
    const probe = vi.fn(() => new Promise<void>(() => {}));
    const readiness = new TunnelReadiness({}, [["a", { probe }]], PACE);
    readiness.start();
    await vi.advanceTimersByTimeAsync(10 * PACE.intervalMs);
    expect(probe).toHaveBeenCalledTimes(1);
    readiness.stop("over");
  });
});
