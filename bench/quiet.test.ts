import { expect, test } from "vitest";
import { untilQuiet } from "./quiet.js";
import { processorName } from "./results/machine.js";

/** A machine whose load is one of these each time somebody sleeps, the last one for good. */
function machine(...loads: number[]) {
  const said: string[] = [];
  let slept = 0;
  const surroundings = {
    load: () => loads[0] ?? 0,
    sleep: (ms: number) => {
      slept += ms;
      if (loads.length > 1) loads.shift();
      return Promise.resolve();
    },
  };
  const until = (force = false) => untilQuiet(force, (line) => said.push(line), surroundings);
  return { until, said, slept: () => slept };
}

test("a quiet machine is used at once", async () => {
  const { until, said, slept } = machine(1);
  await until();
  expect([said, slept()]).toEqual([[], 0]);
});

test("a busy machine is waited for, and that is said", async () => {
  const { until, said, slept } = machine(3, 2, 0.9);
  await until();
  expect(said).toEqual(["The machine is busy (load 3.0): waiting until it is quiet."]);
  expect(slept()).toBe(10_000);
});

test("a machine that stays busy is refused with a sentence", async () => {
  const { until } = machine(2.5);
  await expect(until()).rejects.toThrow(/the machine is busy \(load 2\.5, more than 1\).* or use --force\.$/);
});

test("forced, a busy machine is used at once, and that is said", async () => {
  const { until, said, slept } = machine(4);
  await until(true);
  expect([said, slept()]).toEqual([["The machine is busy (load 4.0): figures will be noisy."], 0]);
});

test("processors with the same name are told apart by family and model", () => {
  const cpuinfo = "cpu family\t: 6\nmodel\t\t: 207\nmodel name\t: Intel(R) Xeon(R) Processor\nstepping\t: 2\n";
  expect(processorName(cpuinfo)).toBe("Intel(R) Xeon(R) Processor (family 6, model 207)");
  expect(processorName("model name\t: a processor\n")).toBe("a processor");
});
