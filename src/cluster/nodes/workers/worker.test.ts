import { describe, expect, test } from "vitest";
import { NO_SHAPE } from "../providers/settings.js";
import { MOST_WORKERS, planWorkers, type Worker } from "./worker.js";

const group = { pool: "c/p", prefix: "w", count: 5, zones: ["a", "b", "c"] };

const worker = (name: string, zone: string, pool = "c/p"): Worker => ({
  ...{
    name,
    zone,
    pool,
    provider: "none",
    hash: "h",
    ips: [],
    made: true,
    ownToken: false,
    createCommand: [],
    deleteCommand: [],
  },
  ...{ notBefore: "", deadline: "" },
  shape: NO_SHAPE,
});

describe("which workers are made", () => {
  test("names them in order and fills zones evenly", () => {
    expect(planWorkers([], group)).toEqual([
      { name: "w-0", zone: "a" },
      { name: "w-1", zone: "b" },
      { name: "w-2", zone: "c" },
      { name: "w-3", zone: "a" },
      { name: "w-4", zone: "b" },
    ]);
  });

  test("makes only what is missing, where there are fewest, under names that nobody ever had", () => {
    const existing = [worker("w-0", "a"), worker("w-2", "a"), worker("w-4", "b"), worker("x-0", "c", "c/other")];
    expect(planWorkers(existing, group)).toEqual([
      { name: "w-5", zone: "c" },
      { name: "w-6", zone: "b" },
    ]);
    const used = new Map([
      ["w", 9],
      ["x", 12],
    ]);
    expect(planWorkers(existing, { ...group, count: 4 }, used)).toEqual([{ name: "w-9", zone: "c" }]);
    const odd = { ...group, pool: "c/constructor", prefix: "constructor", count: 1 };
    expect(planWorkers([], odd)).toEqual([{ name: "constructor-0", zone: "a" }]);
    expect(planWorkers([...existing, worker("w-1", "c"), worker("w-3", "b")], group)).toEqual([]);
  });

  test("refuses a count below the number of existing workers", () => {
    const three = ["w-0", "w-1", "w-2"].map((name) => worker(name, "a"));
    expect(() => planWorkers(three, { ...group, count: 2 })).toThrow(
      "there are 3 workers of c/p called w-... already, more than 2: drawbridge workers scale --count 2",
    );
  });

  test("needs no zones", () => {
    expect(planWorkers([], { ...group, count: 1, zones: [] })).toEqual([{ name: "w-0", zone: "" }]);
  });

  test("never gives one name to two pools", () => {
    expect(() => planWorkers([worker("w-3", "a", "c/other")], group)).toThrow("w-3 is a worker of c/other already");
  });

  test.each([
    [{ prefix: "W" }, '"W-0" cannot be the name of a node'],
    [{ prefix: "../w" }, "cannot be the name"],
    [{ count: MOST_WORKERS + 1 }, `must be 1 to ${MOST_WORKERS}`],
    [{ count: 1.5 }, "must be 1 to"],
  ])("refuses %j", (change, sentence) => {
    expect(() => planWorkers([], { ...group, ...change })).toThrow(sentence);
  });
});
