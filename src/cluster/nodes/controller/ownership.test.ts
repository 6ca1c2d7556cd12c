import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../../base/testing/eventually.js";
import { ManualClock } from "../../../base/testing/manual-clock.js";
import { Ownership } from "./hypershift.js";

let clock: ManualClock;
let trouble: string | undefined;
let leads: boolean;
let taken: number;
let errors: string[];
let ownership: Ownership;

beforeEach(() => {
  clock = new ManualClock();
  [trouble, leads, taken, errors] = [undefined, true, 0, []];
  ownership = new Ownership({
    clock,
    check: async () => {
      if (trouble !== undefined) throw new Error(trouble);
    },
    leading: () => leads,
    onOurs: () => taken++,
    onError: (sentence) => errors.push(sentence),
  });
});

afterEach(() => ownership.stop());

describe("the ownership of pools", () => {
  test("is checked before anything is written", async () => {
    expect(ownership.isOurs).toBe(false);
    ownership.ask();
    await eventually(() => expect(ownership.isOurs).toBe(true));
    expect(taken).toBe(1);
  });

  test("is checked again after a failure, and is not assumed until then", async () => {
    trouble = "no answer";
    ownership.ask();
    await eventually(() => expect(clock.waiting).toEqual([5000]));
    expect([ownership.isOurs, taken, errors]).toEqual([false, 0, ["no answer"]]);
    trouble = undefined;
    clock.advance(5000);
    await eventually(() => expect([ownership.isOurs, taken]).toEqual([true, 1]));
  });

  test("is not checked once another replica leads", async () => {
    trouble = "HyperShift runs here";
    ownership.ask();
    await eventually(() => expect(clock.waiting).toEqual([5000]));
    leads = false;
    trouble = undefined;
    clock.advance(5000);
    await ownership.stop();
    expect([ownership.isOurs, taken]).toEqual([false, 0]);
  });

  test("is checked again whenever the replica becomes the leader", async () => {
    ownership.ask();
    await eventually(() => expect(ownership.isOurs).toBe(true));
    trouble = "HyperShift runs here";
    await Promise.resolve();
    ownership.ask();
    expect(ownership.isOurs).toBe(false);
    await eventually(() => expect(errors).toEqual(["HyperShift runs here"]));
  });
});
