import { describe, expect, test } from "vitest";
import type { Totals } from "../../observe/admin/contract.js";
import { HISTORY, NOW, snapshot, totals } from "../testing/samples.js";
import { History, withPast } from "./history.js";

const sample = (history: History, parts: Partial<Totals>, now: number, instance = "a") =>
  history.sample({ process: { ...snapshot().process, instance }, totals: totals(parts) }, now);

test("rates are differences over the reader's time", () => {
  const history = new History();
  sample(history, { bytesToTarget: 1000, dialsEstablished: 10, dialMsSum: 100 }, 0);
  sample(history, { bytesToTarget: 5000, bytesFromTarget: 2000, dialsEstablished: 14, dialMsSum: 180 }, 2000);
  expect(history.rates).toEqual({ toTarget: 2000, fromTarget: 1000, dials: 2, failures: 0, dialMs: 20 });
  expect(history.columns.at).toEqual([2]);
});

test("news that come early or late are no peak and no gap", () => {
  const history = new History();
  // A thousand bytes a second, told twice a second; what the reader samples once a second may be half a second old.
  for (const [second, told] of [0, 0.5, 2, 2.5, 4].entries())
    sample(history, { at: NOW + told * 1000, bytesToTarget: told * 1000 }, second * 1000);
  expect(history.columns.toTarget).toEqual([1000, 1000, 1000, 1000]);
  // Nothing changed for a minute, and then something did.
  sample(history, { at: NOW + 4000, bytesToTarget: 4000 }, 5000);
  sample(history, { at: NOW + 64_000, bytesToTarget: 6000 }, 6000);
  expect(history.columns.toTarget.slice(-2)).toEqual([0, 1000]);
});

test("the dial time has no average without a dial", () => {
  const history = new History();
  sample(history, {}, 0);
  sample(history, {}, 1000);
  expect(history.rates?.dialMs).toBeNull();
});

test("the history keeps ten minutes", () => {
  const history = new History();
  for (let second = 0; second < 700; second++) sample(history, {}, second * 1000);
  expect(history.columns.at).toHaveLength(600);
  expect(history.columns.at.at(-1)).toBe(699);
});

test("samples older than ten minutes are dropped, also after a pause", () => {
  const history = new History();
  for (let second = 0; second < 5; second++) sample(history, {}, second * 1000);
  sample(history, { bytesToTarget: 7_000_000 }, 7_004_000);
  sample(history, { bytesToTarget: 7_000_000 }, 7_005_000);
  expect(history.columns.at).toEqual([7004, 7005]);
  // The mean of the pause, and no peak at its end.
  expect(history.columns.toTarget).toEqual([1000, 0]);
  expect(history.columns.tunnels).toHaveLength(2);
});

test("time never runs backwards on the chart, whatever the reader's clock does", () => {
  const history = new History();
  for (const second of [100, 101, 102, 50, 51, 52]) sample(history, {}, second * 1000);
  expect(history.columns.at).toEqual([51, 52]);
});

test("another process begins a new history", () => {
  const history = new History();
  sample(history, { dialsEstablished: 1, dialMsSum: 500 }, 0);
  sample(history, { dialsEstablished: 2, dialMsSum: 900 }, 1000);
  sample(history, { dialsEstablished: 5, dialMsSum: 20, bytesToTarget: 9 }, 2000, "b");
  expect(history.rates).toBeUndefined();
  sample(history, { dialsEstablished: 6, dialMsSum: 24, bytesToTarget: 19 }, 3000, "b");
  expect(history.rates?.dialMs).toBe(4);
  expect(history.columns.toTarget).toEqual([0, 10]);
});

describe("what the process remembers", () => {
  const steps = (value: number) => Array(60).fill(value);
  const past = { ...HISTORY, total: { ...HISTORY.total, kibToTarget: steps(20) } };
  const nothing = new History().columns;

  test("fills the charts of a page that was just opened, by the reader's clock", () => {
    const { at, toTarget } = withPast(nothing, past, 5000);
    expect(at).toHaveLength(58);
    expect(at[0]).toBe((NOW - 600_000 + 10_000 + 5000) / 1000);
    expect(toTarget[0]).toBe(2048);
  });

  test("does not reach back before the process began", () => {
    const kibToTarget = steps(0).map((_, step) => (step < 52 ? 0 : 20));
    expect(withPast(nothing, { ...past, total: { ...past.total, kibToTarget } }, 0).at).toHaveLength(6);
    expect(withPast(nothing, HISTORY, 0).at).toEqual([]);
  });

  test("gives way to what was sampled here, and fills what was not", () => {
    const history = new History();
    for (const ago of [302, 301, 22, 21]) sample(history, {}, NOW - ago * 1000);
    const { at } = withPast(history.columns, past, 0);
    expect(at).toEqual([...at].sort((one, other) => one - other));
    expect(at).toContain((NOW - 301_000) / 1000);
    expect(at).not.toContain((NOW - 300_000) / 1000);
    expect(at).toContain((NOW - 200_000) / 1000);
  });
});
