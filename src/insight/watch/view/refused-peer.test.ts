import { expect, test } from "vitest";
import { NOW, refusedPeer } from "../testing/samples.js";
import { refusedPeerFacts } from "./refused-peer.js";

test("the facts of a refused peer are what it said, and a certificate's impossible date breaks nothing", () => {
  expect(refusedPeerFacts(refusedPeer())).toEqual([
    ["code", "DB_PEER_CERT_EXPIRED"],
    ["last", "2023-11-14T22:13:20.000Z"],
  ]);
  const certificate = { subject: "CN=a", issuer: "CN=b", serial: "0a", notBeforeAt: NOW, notAfterAt: Number.NaN };
  expect(refusedPeerFacts(refusedPeer({ agentId: "n", count: 2, certificate })).slice(1, 7)).toEqual([
    ["agent ID", "n"],
    ["subject", "CN=a"],
    ["issuer", "CN=b"],
    ["serial", "0a"],
    ["valid", "2023-11-14T22:13:20.000Z until a time out of range"],
    ["first", "2023-11-14T22:13:20.000Z"],
  ]);
});
