import { expect, test } from "vitest";
import { runScenario } from "./run.js";
import { scenarioOf } from "./scenario.js";

test("worlds of a hundred seeds keep all properties, and each has the same events when it is run again", async () => {
  for (let seed = 1; seed <= 100; seed++) {
    const first = await runScenario(scenarioOf(seed));
    expect(first.failure, `seed ${seed}`).toBeUndefined();
    if (seed % 5 === 0) expect(await runScenario(scenarioOf(seed)), `seed ${seed} again`).toEqual(first);
  }
});

test("a scenario is plain data and can lose any of its elements", async () => {
  for (let seed = 200; seed < 215; seed++) {
    const scenario = JSON.parse(JSON.stringify(scenarioOf(seed))) as ReturnType<typeof scenarioOf>;
    for (const list of ["parties", "callers", "faults"] as const) {
      const [, ...rest] = scenario[list];
      const { failure } = await runScenario({ ...scenario, [list]: rest });
      expect(failure, `seed ${seed} without the first of ${list}`).toBeUndefined();
    }
  }
});

test("a trace does not change what happens", async () => {
  const lines: string[] = [];
  const told = await runScenario(scenarioOf(7), { trace: (line) => lines.push(line) });
  expect(told).toEqual(await runScenario(scenarioOf(7)));
  expect(lines.length).toBeGreaterThan(told.events);
});
