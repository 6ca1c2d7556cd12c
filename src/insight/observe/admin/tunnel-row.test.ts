import { expect, test } from "vitest";
import { endedTunnels, type LinkPeer, TunnelRows } from "./tunnel-row.js";

const rows = new TunnelRows("server", 1_000_000);

const tunnel = (id: number) => ({
  ...{ connectId: id, bytesToFar: id * 10, bytesToNear: id * 100, paused: false, port: { queuedBytes: 7 } },
  info: { id, address: `10.0.0.1:${id}`, frontend: "grpc" as const, askedAt: id, dialledAt: id + 1, openedAt: id + 2 },
  ...{ firstToFarAt: id + 3, firstToNearAt: id + 4, nearEndedAt: id + 5, farEndedAt: 0 },
  ...{ sendWindow: 65_536, receiveWindow: undefined, close: () => {} },
});

const endOf = (id: number, peer: LinkPeer | undefined, end: { at: number; reason: string; error?: string }) =>
  rows.ended(tunnel(id).info, peer, end, tunnel(id));

test("an ended tunnel shows its whole life", () => {
  const ended = endedTunnels();
  const agent = { agent: { key: 3, id: "a-3" } };
  ended.keep(endOf(42, agent, { at: 50, reason: "both ends closed", error: "a hiccup" }));
  expect(ended.find(42)).toEqual({
    ...{ id: 42, target: "10.0.0.1:42", frontend: "grpc", state: "closed", askedAt: 1_000_042, ...agent },
    ...{ connectId: "42", bytesToTarget: 420, bytesFromTarget: 4200, queuedBytes: 0, paused: false },
    marks: { dialled: 1, answered: 2, firstByteToTarget: 3, firstByteFromTarget: 4, callerEnded: 5, ended: 8 },
    ...{ sendWindowBytes: 65_536, endReason: "both ends closed", lastError: "a hiccup" },
  });
});

test("an ended tunnel is described as it was at its end, and only when somebody asks", () => {
  const live = tunnel(1);
  let asked = 0;
  const info = {
    ...live.info,
    get address() {
      asked++;
      return "10.0.0.1:1";
    },
  };
  const ended = endedTunnels();
  ended.keep(rows.ended(info, undefined, { at: 9, reason: "closed" }, live));
  live.bytesToFar = 0;
  expect(asked).toBe(0);
  expect(ended.find(1)).toMatchObject({ target: "10.0.0.1:1", bytesToTarget: 10 });
});

test("the last five hundred ended tunnels are kept, and rows that were handed out stay as they were", () => {
  const ended = endedTunnels();
  ended.keep(endOf(1, undefined, { at: 9, reason: "the first" }));
  const first = ended.find(1);
  ended.keep(rows.ended(tunnel(2).info, undefined, { at: 9, reason: "refused" }));
  expect(ended.find(2)).toMatchObject({ state: "failed", endReason: "refused" });
  for (let id = 3; id <= 502; id++) {
    ended.keep(endOf(id, undefined, { at: id + 9, reason: `of ${id}` }));
  }
  expect(first).toMatchObject({ target: "10.0.0.1:1", endReason: "the first" });
  expect([ended.find(1), ended.find(2), ended.count]).toEqual([undefined, undefined, 502]);
  expect(ended.since(0).map(({ id }) => id)).toEqual(Array.from({ length: 500 }, (_, at) => 502 - at));
  expect(ended.since(500)).toMatchObject([{ id: 502, endReason: "of 502" }, { id: 501 }]);
});
