import { expect, test } from "vitest";
import { agent, NOW, snapshot, totals, tunnel, tunnelChange } from "../testing/samples.js";
import { ProcessView } from "./process-view.js";

test("a snapshot and its portions make the first view", () => {
  const view = new ProcessView(snapshot({ agents: [agent(1), agent(2)] }), NOW + 500);
  view.apply(tunnelChange(tunnel(1), tunnel(2)));
  expect([...view.agents.keys()]).toEqual([1, 2]);
  expect([...view.tunnels.keys()]).toEqual([1, 2]);
  expect(view.clockSkewMs).toBe(500);
});

test("a change is applied to the view", () => {
  const view = new ProcessView(snapshot({ agents: [agent(1)] }), NOW);
  view.apply(tunnelChange(tunnel(1), tunnel(2)));
  view.apply({
    totals: totals({ tunnelsOpen: 2 }),
    agents: { changed: [agent(1, { tunnels: 2 }), agent(3)], gone: [] },
    tunnels: { changed: [tunnel(3), tunnel(1, { bytesToTarget: 7 })], gone: [2] },
    ended: [tunnel(2, { state: "closed" })],
  });
  expect(view.facts.totals.tunnelsOpen).toBe(2);
  expect(view.facts.process.id).toBe("server-1");
  expect(view.agents.get(1)?.tunnels).toBe(2);
  expect([...view.agents.keys()]).toEqual([1, 3]);
  expect([...view.tunnels.keys()]).toEqual([1, 3]);
  expect(view.tunnels.get(1)).toMatchObject({ target: "10.0.0.1:443", bytesToTarget: 7 });
  expect(view.ended.map(({ id }) => id)).toEqual([2]);
});

test("ended tunnels and refusals in the view are bounded", () => {
  const view = new ProcessView(snapshot(), NOW);
  for (let id = 0; id < 900; id++)
    view.apply({
      totals: totals(),
      ended: [tunnel(id)],
      refusals: [{ id: `R${id}`, at: NOW, target: "", why: "" }],
    });
  expect(view.ended).toHaveLength(500);
  expect(view.ended[0]?.id).toBe(899);
  expect(view.refusals).toHaveLength(256);
});

test("items that a snapshot after a loss already has are not listed twice", () => {
  const refusal = (id: string) => ({ id, at: NOW, target: "", why: "" });
  const view = new ProcessView(
    snapshot({ refusals: [refusal("b"), refusal("a")], ended: [tunnel(2), tunnel(1)] }),
    NOW,
  );
  view.apply({ totals: totals(), refusals: [refusal("c"), refusal("b")], ended: [tunnel(3), tunnel(2)] });
  expect(view.refusals.map(({ id }) => id)).toEqual(["c", "b", "a"]);
  expect(view.ended.map(({ id }) => id)).toEqual([3, 2, 1]);
});
