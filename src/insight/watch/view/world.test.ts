import { expect, test } from "vitest";
import { agent, NOW, snapshot, totals, tunnel } from "../testing/samples.js";
import { World } from "./world.js";

test("a snapshot and its portions are the beginning", () => {
  const world = new World(snapshot({ agents: [agent(1), agent(2)] }), NOW + 500);
  world.add({ tunnels: [tunnel(1), tunnel(2)], more: false });
  expect([...world.agents.keys()]).toEqual([1, 2]);
  expect([...world.tunnels.keys()]).toEqual([1, 2]);
  expect(world.clockSkewMs).toBe(500);
});

test("a change lays what is new over what is known", () => {
  const world = new World(snapshot({ agents: [agent(1)] }), NOW);
  world.add({ tunnels: [tunnel(1), tunnel(2)], more: true });
  world.apply({
    totals: totals({ tunnelsOpen: 2 }),
    agents: { changed: [agent(1, { tunnels: 2 }), agent(3)], gone: [] },
    tunnels: {
      opened: [tunnel(3)],
      changed: [
        { id: 1, bytesToTarget: 7 },
        { id: 99, bytesToTarget: 1 },
      ],
      gone: [2],
    },
    ended: [tunnel(2, { state: "closed" })],
  });
  expect(world.facts.totals.tunnelsOpen).toBe(2);
  expect(world.facts.process.id).toBe("server-1");
  expect(world.agents.get(1)?.tunnels).toBe(2);
  expect([...world.agents.keys()]).toEqual([1, 3]);
  // 99 is not known yet: it comes whole in a later portion.
  expect([...world.tunnels.keys()]).toEqual([1, 3]);
  expect(world.tunnels.get(1)).toMatchObject({ target: "10.0.0.1:443", bytesToTarget: 7 });
  expect(world.ended.map(({ id }) => id)).toEqual([2]);
});

test("what is remembered of the past is bounded", () => {
  const world = new World(snapshot(), NOW);
  for (let id = 0; id < 900; id++)
    world.apply({
      totals: totals(),
      ended: [tunnel(id)],
      refusals: [{ id: `R${id}`, at: NOW, target: "", why: "" }],
    });
  expect(world.ended).toHaveLength(500);
  expect(world.ended[0]?.id).toBe(899);
  expect(world.refusals).toHaveLength(256);
});

test("what a snapshot after a loss has already is not counted twice", () => {
  const refusal = (id: string) => ({ id, at: NOW, target: "", why: "" });
  const world = new World(snapshot({ refusals: [refusal("b"), refusal("a")], ended: [tunnel(2), tunnel(1)] }), NOW);
  world.apply({ totals: totals(), refusals: [refusal("c"), refusal("b")], ended: [tunnel(3), tunnel(2)] });
  expect(world.refusals.map(({ id }) => id)).toEqual(["c", "b", "a"]);
  expect(world.ended.map(({ id }) => id)).toEqual([3, 2, 1]);
});
