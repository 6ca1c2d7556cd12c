import { describe, expect, test } from "vitest";
import { FallbackState } from "./name-resolution.js";

function start() {
  const time = { now: 1_000 };
  const changes: boolean[] = [];
  const onChange = (active: boolean): void => void changes.push(active);
  return { time, changes, state: new FallbackState(() => time.now, onChange) };
}

describe("the fallback's state", () => {
  test("allows concurrent use of the tunnel while that works", () => {
    const { state } = start();
    expect(state.active).toBe(false);
    expect([state.tryTunnel(), state.tryTunnel()].every((end) => end !== undefined)).toBe(true);
  });

  test("allows no use of the tunnel for 30 s after a failure", () => {
    const { state, time } = start();
    state.markFailure("no");
    expect(state.active).toBe(true);
    time.now += 29_999;
    expect(state.tryTunnel()).toBeUndefined();
    time.now += 1;
    expect(state.tryTunnel()).toBeDefined();
  });

  test("allows one retry at a time, 30 s after the last began", () => {
    const { state, time } = start();
    state.markFailure("no");
    time.now += 30_000;
    const end = state.tryTunnel();
    time.now += 60_000;
    expect(state.tryTunnel()).toBeUndefined();
    end?.();
    expect(state.tryTunnel()).toBeDefined();
    time.now += 29_999;
    expect(state.tryTunnel()).toBeUndefined();
  });

  test("is not changed by the end of an attempt from before the failure", () => {
    const { state, time } = start();
    const early = state.tryTunnel();
    state.markFailure("no");
    time.now += 30_000;
    const retry = state.tryTunnel();
    early?.();
    time.now += 30_000;
    expect(state.tryTunnel()).toBeUndefined();
    retry?.();
    expect(state.tryTunnel()).toBeDefined();
  });

  test("ends with a success, and begins again with the next failure", () => {
    const { state, time, changes } = start();
    state.markFailure("no");
    state.markFailure("still no");
    time.now += 30_000;
    const end = state.tryTunnel();
    state.markSuccess();
    end?.();
    expect(state.active).toBe(false);
    time.now += 1;
    state.markFailure("again");
    expect(state.tryTunnel()).toBeUndefined();
    time.now += 30_000;
    expect(state.tryTunnel()).toBeDefined();
    expect(changes).toEqual([true, false, true]);
  });
});
