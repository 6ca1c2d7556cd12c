import { describe, expect, it } from "vitest";
import { mostWorkers, planWorkers } from "./plan.js";
import type { Worker } from "./worker.js";

const wish = { pool: "c/p", prefix: "w", count: 5, zones: ["a", "b", "c"] };

const worker = (name: string, zone: string, pool = "c/p"): Worker => ({
  ...{
    name,
    zone,
    pool,
    provider: "files",
    hash: "h",
    ips: [],
    made: true,
    ownToken: false,
    createCommand: [],
    deleteCommand: [],
  },
  ...{ notBefore: "", deadline: "" },
  shape: { machineType: "", diskGb: "", subnet: "", image: "", imageProject: "", project: "" },
});

describe("which workers are made", () => {
  it("names them in order and fills zones evenly", () => {
    expect(planWorkers([], wish)).toEqual([
      { name: "w-0", zone: "a" },
      { name: "w-1", zone: "b" },
      { name: "w-2", zone: "c" },
      { name: "w-3", zone: "a" },
      { name: "w-4", zone: "b" },
    ]);
  });

  it("makes only what is missing, where there are fewest", () => {
    const existing = [worker("w-0", "a"), worker("w-2", "a"), worker("w-4", "b"), worker("x-0", "c", "c/other")];
    expect(planWorkers(existing, wish)).toEqual([
      { name: "w-1", zone: "c" },
      { name: "w-3", zone: "b" },
    ]);
    expect(planWorkers([...existing, worker("w-1", "c"), worker("w-3", "b")], wish)).toEqual([]);
  });

  it("needs no zones", () => {
    expect(planWorkers([], { ...wish, count: 1, zones: [] })).toEqual([{ name: "w-0", zone: "" }]);
  });

  it("never gives one name to two pools", () => {
    expect(() => planWorkers([worker("w-3", "a", "c/other")], wish)).toThrow("w-3 is a worker of c/other already");
  });

  it.each([
    [{ prefix: "W" }, '"W-0" cannot be the name of a node'],
    [{ prefix: "../w" }, "cannot be the name"],
    [{ count: mostWorkers + 1 }, `must be 1 to ${mostWorkers}`],
    [{ count: 1.5 }, "must be 1 to"],
  ])("refuses %j", (change, sentence) => {
    expect(() => planWorkers([], { ...wish, ...change })).toThrow(sentence);
  });
});
