import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../../base/testing/eventually.js";
import { ManualClock } from "../../../base/testing/manual-clock.js";
import { createMemoryApi } from "../testing/memory-api.js";
import { PoolController } from "./controller.js";

let clock: ManualClock;
let trouble: string | undefined;
let leads: boolean;
let errors: string[];
let controller: PoolController;

beforeEach(() => {
  clock = new ManualClock();
  [trouble, leads, errors] = [undefined, true, []];
  controller = new PoolController({
    api: createMemoryApi(),
    namespace: "clusters",
    clock,
    requireOurs: async () => {
      if (trouble !== undefined) throw new Error(trouble);
    },
    leading: () => leads,
    onError: (sentence) => errors.push(sentence),
  });
});

afterEach(() => controller.stop());

describe("the ownership of pools", () => {
  test("is checked before anything is written", async () => {
    expect(controller.leads).toBe(false);
    controller.takeOver();
    await eventually(() => expect(controller.leads).toBe(true));
  });

  test("is checked again after a failure, and is not assumed until then", async () => {
    trouble = "no answer";
    controller.takeOver();
    await eventually(() => expect(clock.waiting).toEqual([5000]));
    expect([controller.leads, errors]).toEqual([false, ["no answer"]]);
    trouble = undefined;
    clock.advance(5000);
    await eventually(() => expect(controller.leads).toBe(true));
  });

  test("is not checked once another replica leads", async () => {
    trouble = "HyperShift runs here";
    controller.takeOver();
    await eventually(() => expect(clock.waiting).toEqual([5000]));
    leads = false;
    trouble = undefined;
    clock.advance(5000);
    await controller.stop();
    leads = true;
    expect(controller.leads).toBe(false);
  });

  test("is checked again whenever the replica becomes the leader", async () => {
    controller.takeOver();
    await eventually(() => expect(controller.leads).toBe(true));
    trouble = "HyperShift runs here";
    await Promise.resolve();
    controller.takeOver();
    expect(controller.leads).toBe(false);
    await eventually(() => expect(errors).toEqual(["HyperShift runs here"]));
  });
});
