import { describe, expect, test } from "vitest";
import { FallbackState } from "./fallback-state.js";

function start() {
  const time = { now: 1_000 };
  const changes: boolean[] = [];
  const onChange = (active: boolean): void => void changes.push(active);
  return { time, changes, state: new FallbackState({ retryMs: 30_000, now: () => time.now, onChange }) };
}

describe("the fallback's state", () => {
  test("lets everybody use the tunnel while that works, at the same time", () => {
    const { state } = start();
    expect(state.active).toBe(false);
    expect([state.begin(), state.begin()].every((end) => end !== undefined)).toBe(true);
  });

  test("after a failure keeps everybody off the tunnel for 30 s", () => {
    const { state, time } = start();
    state.markFailure("no");
    expect(state.active).toBe(true);
    time.now += 29_999;
    expect(state.begin()).toBeUndefined();
    time.now += 1;
    expect(state.begin()).toBeDefined();
  });

  test("lets one at a time retry, and the next only 30 s after the last began", () => {
    const { state, time } = start();
    state.markFailure("no");
    time.now += 30_000;
    const end = state.begin();
    time.now += 60_000;
    expect(state.begin()).toBeUndefined();
    end?.();
    expect(state.begin()).toBeDefined();
    time.now += 29_999;
    expect(state.begin()).toBeUndefined();
  });

  test("is not freed by somebody who began before the failure", () => {
    const { state, time } = start();
    const early = state.begin();
    state.markFailure("no");
    time.now += 30_000;
    const retry = state.begin();
    early?.();
    time.now += 30_000;
    expect(state.begin()).toBeUndefined();
    retry?.();
    expect(state.begin()).toBeDefined();
  });

  test("ends with a success, and begins anew with the next failure", () => {
    const { state, time, changes } = start();
    state.markFailure("no");
    state.markFailure("still no");
    time.now += 30_000;
    const end = state.begin();
    state.markSuccess();
    end?.();
    expect(state.active).toBe(false);
    time.now += 1;
    state.markFailure("again");
    expect(state.begin()).toBeUndefined();
    time.now += 30_000;
    expect(state.begin()).toBeDefined();
    expect(changes).toEqual([true, false, true]);
  });
});
