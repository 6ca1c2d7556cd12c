import { expect, test } from "vitest";
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
  expect(map.peers).toMatchObject([{ name: "agent-1", tunnels: 2, rate: 1000, state: "ok" }]);
  expect(map.targets).toEqual([{ name: "a:1", tunnels: 2, rate: 1000 }]);
});

test("agents without a tunnel are on the map, too, with their state", () => {
  const agents = [
    agent(1, { draining: true }),
    agent(2, { demotedUntil: NOW }),
    agent(3, { path: { state: "failing" } }),
  ];
  const map = new FlowMeter().measure(new ProcessView(snapshot({ agents }), NOW), 0);
  expect(map.peers.map(({ state }) => state)).toEqual(["draining", "demoted", "failing"]);
});

test("the busiest peers and targets are drawn and the rest is counted", () => {
  const crowd = Array.from({ length: 500 }, (_, key) => agent(key));
  const view = new ProcessView(snapshot({ agents: crowd }), NOW);
  for (let id = 0; id < 1000; id++) view.tunnels.set(id, tunnel(id, to(`t${id}:1`, id % 500)));
  const meter = new FlowMeter();
  meter.measure(view, 0);
  view.tunnels.set(777, tunnel(777, to("t777:1", 277, 9999)));
  const map = meter.measure(view, 1000);
  expect(map.peers).toHaveLength(SHOWN);
  expect(map.peersLeftOut).toBe(500 - SHOWN);
  expect(map.peers.map(({ name }) => name)).toContain("agent-277");
  expect(map.targets.map(({ name }) => name)).toContain("t777:1");
  expect(map.targetsLeftOut).toBe(1000 - SHOWN);
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
    { name: "https", tunnels: 1, rate: 500, state: "ok" },
    { name: "socks", tunnels: 2, rate: 0, state: "ok" },
  ]);
  expect(map.targets).toEqual([
    { name: "a:1", tunnels: 2, rate: 500 },
    { name: "b:1", tunnels: 1, rate: 0 },
  ]);
  const https = map.peers[0]!.key;
  expect(map.flows).toContainEqual({ peer: https, target: "a:1", tunnels: 1, rate: 500 });
});
