import { expect, test } from "vitest";
import { agent, HISTORY, NOW, refusedPeer, snapshot } from "../testing/samples.js";
import { peerRows, peersFound } from "./peer-rows.js";
import { ProcessView } from "./process-view.js";

const left = (id: string) => ({
  ...{ id, address: "10.0.0.9:4711", connectedAt: NOW - 60_000, leftAt: NOW - 5000 },
  reason: "the connection was reset",
});
const view = (parts: Parameters<typeof snapshot>[0]) => new ProcessView(snapshot(parts), NOW);
const names = (rows: ReturnType<typeof peerRows>) => rows.map(({ kind, name }) => `${kind} ${name}`);

test("those in trouble come first, then all by name as people count", () => {
  const agents = [agent(1, { id: "node-10", tunnels: 9 }), agent(2, { id: "node-2" }), agent(3, { id: "node-3" })];
  const rows = peerRows(view({ agents }), HISTORY, new Map([["node-3", "warn"]]), NOW);
  expect(names(rows)).toEqual(["here node-3", "here node-2", "here node-10"]);
});

test("agents that left and agents that were refused stay visible", () => {
  const facts = view({ agents: [agent(1)], refusedPeers: [refusedPeer()] });
  const rows = peerRows(facts, { ...HISTORY, left: [left("node-9"), left("b")] }, new Map([["node-9", "warn"]]), NOW);
  expect(names(rows)).toEqual(["gone node-9", "refused 10.0.3.7", "here agent-1", "gone b"]);
});

test("one that came back, one that was corrected and one of long ago are no trouble any more", () => {
  const refusedPeers = [
    refusedPeer({ acceptedAt: NOW }),
    refusedPeer({ id: 2, at: NOW - 700_000 }),
    refusedPeer({ id: 3, listener: "admin" }),
  ];
  const facts = view({ agents: [agent(1)], refusedPeers });
  expect(names(peerRows(facts, { ...HISTORY, left: [left("agent-1")] }, new Map(), NOW))).toEqual(["here agent-1"]);
});

test("the search looks at names, addresses and last words", () => {
  const rows = peerRows(view({ agents: [agent(1)] }), { ...HISTORY, left: [left("node-9")] }, new Map(), NOW);
  expect(peersFound(rows, "RESET node").map(({ name }) => name)).toEqual(["node-9"]);
  expect(peersFound(rows, "192.0.2").map(({ name }) => name)).toEqual(["agent-1"]);
  expect(peersFound(rows, " ")).toHaveLength(2);
});
