import { describe, expect, test } from "vitest";
import { FallbackState } from "./name-resolution.js";

function start() {
  const time = { now: 1_000 };
  const changes: boolean[] = [];
  const onChange = (active: boolean): void => void changes.push(active);
  return { time, changes, state: new FallbackState(30_000, () => time.now, onChange) };
}

describe("the fallback's state", () => {
  test("lets everybody use the tunnel while that works, at the same time", () => {
    const { state } = start();
    expect(state.active).toBe(false);
    expect([state.tryTunnel(), state.tryTunnel()].every((end) => end !== undefined)).toBe(true);
  });

  test("after a failure keeps everybody off the tunnel for 30 s", () => {
    const { state, time } = start();
    state.markFailure("no");
    expect(state.active).toBe(true);
    time.now += 29_999;
    expect(state.tryTunnel()).toBeUndefined();
    time.now += 1;
    expect(state.tryTunnel()).toBeDefined();
  });

  test("lets one at a time retry, and the next only 30 s after the last began", () => {
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

  test("is not freed by somebody who began before the failure", () => {
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
