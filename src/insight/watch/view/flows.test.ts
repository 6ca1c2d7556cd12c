import { describe, expect, test } from "vitest";
import type { TargetHistory } from "../../observe/admin/contract.js";
import { agent, NOW, snapshot, tunnel, tunnelChange } from "../testing/samples.js";
import { FlowMeter, SHOWN } from "./flows.js";
import { ProcessView } from "./process-view.js";

const to = (target: string, key: number, bytesToTarget = 0) => ({
  target,
  agent: { key, id: `agent-${key}` },
  bytesToTarget,
});

test("tunnels of one agent to one target are one flow, whose rate is what moved since the last measurement", () => {
  const view = new ProcessView(snapshot({ agents: [agent(1)] }), NOW);
  view.apply(tunnelChange(tunnel(1, to("a:1", 1)), tunnel(2, to("a:1", 1))));
  const meter = new FlowMeter();
  expect(meter.measure(view, 1000).flows).toEqual([{ peer: 1, target: "a:1", tunnels: 2, rate: 0 }]);
  view.tunnels.set(1, tunnel(1, to("a:1", 1, 500)));
  view.tunnels.set(2, tunnel(2, to("a:1", 1, 1500)));
  const map = meter.measure(view, 3000);
  expect(map.flows).toEqual([{ peer: 1, target: "a:1", tunnels: 2, rate: 1000 }]);
  expect(map.peers).toMatchObject([{ name: "agent-1", tunnels: 2, rate: 1000, severity: "good" }]);
  expect(map.targets).toEqual([{ name: "a:1", tunnels: 2, rate: 1000, dials: 0, severity: "good" }]);
});

test("agents without a tunnel are on the map, too, with how well they are", () => {
  const agents = [
    agent(1, { draining: true }),
    agent(2, { demotedUntil: NOW }),
    agent(3, { path: { state: "failing" } }),
  ];
  const map = new FlowMeter().measure(new ProcessView(snapshot({ agents }), NOW), 0);
  expect(map.peers.map(({ severity }) => severity)).toEqual(["warn", "warn", "bad"]);
});

describe("more than fit", () => {
  const crowd = Array.from({ length: 500 }, (_, key) => agent(key));
  const view = new ProcessView(snapshot({ agents: crowd }), NOW);
  for (let id = 0; id < 1000; id++) view.tunnels.set(id, tunnel(id, to(`t${id}:1`, id % 500)));
  const names = (items: readonly { readonly name: string }[]) => items.map(({ name }) => name);

  test("the busiest are drawn, and the rest is one, with all that it carries", () => {
    const meter = new FlowMeter();
    meter.measure(view, 0);
    view.tunnels.set(777, tunnel(777, to("t777:1", 277, 9999)));
    const map = meter.measure(view, 40_000);
    expect(map.peers).toHaveLength(SHOWN + 1);
    expect(map.peers.at(-1)).toMatchObject({ members: 500 - SHOWN, tunnels: 1000 - 2 * SHOWN });
    expect(names(map.peers)).toContain("agent-277");
    expect(names(map.targets)).toContain("t777:1");
    expect(map.targets.at(-1)).toMatchObject({ members: 1000 - SHOWN });
    expect(map.flows.reduce((sum, { tunnels }) => sum + tunnels, 0)).toBe(1000);
  });

  test("those that are drawn stay for a while, whoever is busy at the moment", () => {
    const meter = new FlowMeter();
    meter.measure(view, 0);
    view.tunnels.set(444, tunnel(444, to("t444:1", 444, 9)));
    const before = names(meter.measure(view, 1000).peers);
    expect(before).toContain("agent-444");
    view.tunnels.set(888, tunnel(888, to("t888:1", 388, 99_999)));
    expect(names(meter.measure(view, 2000).peers)).toEqual(before);
    view.tunnels.set(888, tunnel(888, to("t888:1", 388, 999_999)));
    expect(names(meter.measure(view, 31_000).peers)).toContain("agent-388");
  });

  test("one in trouble is drawn at once", () => {
    const meter = new FlowMeter();
    meter.measure(view, 0);
    const map = meter.measure(view, 1000, { troubles: new Map([["agent-499", "warn"]]) });
    expect(map.peers.find(({ name }) => name === "agent-499")).toMatchObject({ severity: "warn" });
  });
});

describe("targets that nobody has a tunnel to at this moment", () => {
  const view = new ProcessView(snapshot({ agents: [agent(1), agent(2)] }), NOW);
  const mapOf = (...targets: TargetHistory[]) =>
    new FlowMeter().measure(view, 0, { troubles: new Map(), history: { targets, peers: [] } });

  test("one that fails is on the map, with those that tried", () => {
    const map = mapOf({ target: "dead:1", dials: [2], failures: [2], peers: ["agent-2"], failingSinceAt: NOW });
    expect(map.targets).toEqual([{ name: "dead:1", tunnels: 0, rate: 0, dials: 2, severity: "bad" }]);
    expect(map.flows).toEqual([{ peer: 2, target: "dead:1", tunnels: 0, rate: 0 }]);
    expect(map.peers.map(({ severity }) => severity)).toEqual(["good", "good"]);
  });

  test("one that was dialled within the ten minutes and works is on the map, too, with those that dialled it", () => {
    const map = mapOf({ target: "api:1", dials: [0, 4, 3], failures: [0, 0, 0], peers: ["agent-1", "gone"] });
    expect(map.targets).toEqual([{ name: "api:1", tunnels: 0, rate: 0, dials: 7, severity: "good" }]);
    expect(map.flows).toEqual([{ peer: 1, target: "api:1", tunnels: 0, rate: 0 }]);
  });

  test("of too many those dialled most are drawn, and the rest is one", () => {
    const all = Array.from({ length: 200 }, (_, at) => ({ target: `t${at}:1`, dials: [at], failures: [0] }));
    const map = mapOf(...all);
    expect(map.targets).toHaveLength(SHOWN + 1);
    expect(map.targets[0]).toMatchObject({ name: "t191:1", dials: 191 });
    expect(map.targets.at(-1)).toMatchObject({ members: 200 - SHOWN, dials: (191 * 190) / 2 });
  });
});

test("a sidecar's tunnels, which no peer is known to carry, come from its listeners", () => {
  const servers = [{ key: 1, address: "/run/server.sock" }];
  const view = new ProcessView(snapshot({ servers }), NOW);
  const meter = new FlowMeter();
  expect(meter.measure(view, 0).peers).toMatchObject([{ name: "/run/server.sock", tunnels: 0 }]);
  const through = (id: number, listener: string, target: string, bytesToTarget: number) => {
    const { agent: _agent, ...more } = tunnel(id, { listener, target, bytesToTarget });
    return more;
  };
  view.apply(tunnelChange(through(1, "socks", "a:1", 0), through(2, "socks", "b:1", 0)));
  view.apply(tunnelChange(through(3, "https", "a:1", 0)));
  meter.measure(view, 1000);
  view.apply(tunnelChange(through(3, "https", "a:1", 500)));
  const map = meter.measure(view, 2000);
  expect(map.peers).toMatchObject([
    { name: "https", tunnels: 1, rate: 500, severity: "good" },
    { name: "socks", tunnels: 2, rate: 0, severity: "good" },
  ]);
  expect(map.targets).toEqual([
    { name: "a:1", tunnels: 2, rate: 500, dials: 0, severity: "good" },
    { name: "b:1", tunnels: 1, rate: 0, dials: 0, severity: "good" },
  ]);
  const https = map.peers[0]!.key;
  expect(map.flows).toContainEqual({ peer: https, target: "a:1", tunnels: 1, rate: 500 });
});
