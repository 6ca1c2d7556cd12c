/** The last ten minutes of a process, and no more of them. */
import { beforeEach, describe, expect, test } from "vitest";
import { ManualClock } from "../../../base/testing/manual-clock.js";
import { ProcessHistory } from "./process-history.js";
import { STEP_MS, STEPS } from "./series.js";

let clock: ManualClock;
let history: ProcessHistory;
beforeEach(() => {
  clock = new ManualClock();
  history = new ProcessHistory(clock);
});

const target = "10.0.0.1:443";
const sum = (numbers: readonly number[]): number => numbers.reduce((one, other) => one + other, 0);

describe("dials", () => {
  test("each step has its own count, the present one last", () => {
    history.dialEnded({ target, peer: "one", ms: 3 });
    clock.advance(STEP_MS);
    for (const _ of [1, 2]) history.dialEnded({ target, peer: "two", ms: 3 });
    clock.advance(2 * STEP_MS);
    const { total, targets, peers } = history.describe();
    expect(total.dials.slice(-4)).toEqual([1, 2, 0, 0]);
    expect(total.dials).toHaveLength(STEPS);
    const { fromAt, stepMs } = history.describe();
    const presentAt = fromAt + (STEPS - 1) * stepMs;
    expect(clock.date() - presentAt).toBeGreaterThanOrEqual(0);
    expect(clock.date() - presentAt).toBeLessThan(stepMs);
    expect(targets.map((each) => [each.target, sum(each.dials)])).toEqual([[target, 3]]);
    expect(peers.map(({ id, dials }) => [id, sum(dials)])).toEqual([
      ["one", 1],
      ["two", 2],
    ]);
  });

  test("after ten minutes nothing of them is left", () => {
    history.dialEnded({ target, peer: "one", ms: 3 });
    history.dialEnded({ target, peer: "one", ms: 3, error: "connection refused" });
    clock.advance(STEP_MS * STEPS);
    const { total, targets, peers, failures } = history.describe();
    expect(sum(total.dials) + sum(total.failures)).toBe(0);
    expect(total.p50Ms).toBeUndefined();
    expect([targets, peers, failures]).toEqual([[], [], []]);
  });

  test("half of the dials, and all but the slowest of a hundred, took no longer than that", () => {
    for (let count = 0; count < 98; count++) history.dialEnded({ target, ms: 4 });
    for (const _ of [1, 2]) history.dialEnded({ target, ms: 340 });
    const { p50Ms, p99Ms } = history.describe().total;
    expect(p50Ms! / 4).toBeGreaterThan(0.9);
    expect(p50Ms! / 4).toBeLessThan(1.1);
    expect(p99Ms! / 340).toBeGreaterThan(0.9);
    expect(p99Ms! / 340).toBeLessThan(1.1);
  });

  test("each step has the mean of the dials that were established in it", () => {
    for (const ms of [2, 5]) history.dialEnded({ target, ms });
    history.dialEnded({ target, ms: 30_000, error: "i/o timeout" });
    clock.advance(STEP_MS);
    expect(history.describe().total.dialMs?.slice(-3)).toEqual([null, 3.5, null]);
  });

  test("a dial that failed is no slow dial", () => {
    history.dialEnded({ target, ms: 30_000, error: "i/o timeout" });
    expect(history.describe().total).toMatchObject({ p50Ms: undefined, p99Ms: undefined });
  });

  test("a target has those that dialled it within the ten minutes, the latest few of them", () => {
    history.dialEnded({ target, peer: "before", ms: 3 });
    clock.advance(STEP_MS * (STEPS - 1));
    history.dialEnded({ target, peer: "one", ms: 3 });
    history.dialEnded({ target, peer: "two", ms: 3, error: "connection refused" });
    history.dialEnded({ target, peer: "one", ms: 3 });
    expect(history.describe().targets[0]!.peers).toEqual(["before", "two", "one"]);
    clock.advance(STEP_MS);
    expect(history.describe().targets[0]!.peers).toEqual(["two", "one"]);
    for (let each = 0; each < 100; each++) history.dialEnded({ target, peer: `node-${each}`, ms: 3 });
    expect(history.describe().targets[0]!.peers).toHaveLength(8);
    expect(history.describe().targets[0]!.peers!.at(-1)).toBe("node-99");
  });

  test("a target fails since the first of the failures after which it never answered", () => {
    const failing = () => history.describe().targets[0]!.failingSinceAt;
    history.dialEnded({ target, ms: 1, error: "connection refused" });
    clock.advance(STEP_MS);
    history.dialEnded({ target, ms: 1 });
    expect(failing()).toBeUndefined();
    clock.advance(STEP_MS);
    const since = clock.date();
    for (const error of ["connection refused", "i/o timeout"]) {
      history.dialEnded({ target, ms: 1, error });
      clock.advance(STEP_MS);
    }
    expect(failing()).toBe(since);
    clock.advance(STEP_MS * STEPS);
    const again = clock.date();
    history.dialEnded({ target, ms: 1, error: "connection refused" });
    expect(failing()).toBe(again);
  });

  test("a caller that dials a thousand targets does not take more room than one with a few", () => {
    for (let port = 1; port <= 1000; port++) history.dialEnded({ target: `10.0.0.1:${port}`, ms: 1, error: "refused" });
    const { targets, failures, total } = history.describe();
    expect(targets).toHaveLength(256);
    expect(targets.at(-1)!.target).toBe("10.0.0.1:1000");
    expect(failures).toHaveLength(128);
    expect(sum(total.dials)).toBe(1000);
  });
});

describe("failures", () => {
  test("those of one target and one reason are one, the most frequent first", () => {
    history.dialEnded({ target, peer: "one", ms: 1, error: "connection refused" });
    for (const peer of ["one", "two", "one"]) history.dialEnded({ target, peer, ms: 1, error: "i/o timeout" });
    const found = history.describe().failures;
    expect(found.map(({ reason, count, peers }) => [reason, count, peers])).toEqual([
      ["i/o timeout", 3, ["one", "two"]],
      ["connection refused", 1, ["one"]],
    ]);
  });

  test("the reference of a refusal makes no other reason", () => {
    const error = (reference: string) => `No agent available (0 connected, none for this; reference ${reference})`;
    for (const each of ["0badcafe", "12345678"]) history.dialEnded({ target, ms: 0, error: error(each) });
    const { failures } = history.describe();
    expect(failures).toMatchObject([{ count: 2, reason: "No agent available (0 connected, none for this)" }]);
  });

  test("the port that the agent asked its name server from makes no other reason", () => {
    for (const port of [40312, 51007])
      history.dialEnded({ target, ms: 1, error: `read udp 10.0.0.9:${port}->10.0.0.2:53: i/o timeout` });
    expect(history.describe().failures.map(({ count }) => count)).toEqual([2]);
  });
});

describe("peers that left", () => {
  const peer = { id: "node-1", address: "10.0.0.7:3", connectedAt: 5, reason: "the connection was reset" };

  test("one is remembered with its last words for ten minutes", () => {
    history.peerLeft(peer);
    expect(history.describe().left).toMatchObject([peer]);
    clock.advance(STEP_MS * STEPS + 1);
    expect(history.describe().left).toEqual([]);
  });

  test("what it says of itself is shown without secrets, and not endlessly", () => {
    history.peerLeft({ ...peer, id: "x ".repeat(2000), reason: "password=hunter2-is-long" });
    const [left] = history.describe().left;
    expect(left!.id.length).toBeLessThan(600);
    expect(left!.reason).not.toContain("hunter2");
  });

  test("when it left is told by the clock of today, though that was set since", () => {
    history.peerLeft(peer);
    clock.step(3_600_000);
    const { left, fromAt } = history.describe();
    expect(left[0]!.leftAt).toBe(clock.date());
    expect(clock.date() - fromAt).toBeLessThanOrEqual(STEP_MS * STEPS);
  });

  test("one that came back is not missing", () => {
    history.peerLeft(peer);
    history.peerCame("node-1");
    expect(history.describe().left).toEqual([]);
  });
});

test("an endless error of a stranger takes no room", () => {
  for (let dial = 0; dial < 20; dial++) history.dialEnded({ target, peer: "one", ms: 1, error: "x y ".repeat(50_000) });
  history.dialEnded({ target, peer: "one", ms: 1, error: `${"x y ".repeat(50_000)}another` });
  expect(history.describe().failures).toMatchObject([{ count: 21 }]);
});

test("an agent that was asked second is not called slow for the first", () => {
  history.dialEnded({ target, peer: "one", ms: 5_003, peerMs: 3 });
  const { total, peers } = history.describe();
  expect(total.p50Ms).toBeGreaterThan(4_000);
  expect(peers[0]!.p50Ms).toBeLessThan(4);
});

test("a sample that comes early or late leaves no gap and counts nothing twice", () => {
  const totals = { tunnelsOpen: 2, dialsPending: 0, dialsEstablished: 0, dialsFailed: 0, dialMsSum: 0, queuedBytes: 0 };
  const sample = () => history.sample({ ...totals, bytesToTarget: 0, bytesFromTarget: 0 });
  for (const ms of [STEP_MS, STEP_MS - 1, STEP_MS + 1, 2 * STEP_MS]) {
    clock.advance(ms);
    sample();
  }
  expect(history.describe().total.tunnels.slice(-5)).toEqual([2, 2, 2, 2, 0]);
});

test("bytes belong to the step in which they were carried", () => {
  const totals = { tunnelsOpen: 2, dialsPending: 0, dialsEstablished: 0, dialsFailed: 0, dialMsSum: 0, queuedBytes: 0 };
  clock.advance(STEP_MS);
  history.sample({ ...totals, bytesToTarget: 2048, bytesFromTarget: 10_240 });
  clock.advance(STEP_MS);
  history.sample({ ...totals, bytesToTarget: 3072, bytesFromTarget: 10_240 });
  const { kibToTarget, kibFromTarget, tunnels } = history.describe().total;
  expect(kibToTarget.slice(-3)).toEqual([2, 1, 0]);
  expect(kibFromTarget.slice(-3)).toEqual([10, 0, 0]);
  expect(tunnels.slice(-3)).toEqual([2, 2, 0]);
});
