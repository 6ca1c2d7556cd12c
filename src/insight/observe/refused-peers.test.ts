import { expect, test } from "vitest";
import { callerAccepted, certificatesReloaded, serverAgentConnected } from "../../tunnel/events/channels.js";
import type { RefusedPeer } from "./admin/contract.js";
import { RefusedPeers } from "./refused-peers.js";

const certificate = { subject: "CN=agent", issuer: "CN=ca", serial: "0a", notBeforeAt: 1, notAfterAt: 2 };
const peer = (parts: Partial<RefusedPeer> = {}): RefusedPeer => ({
  ...{ listener: "agents", remote: "10.0.3.7:4711", code: "DB_PEER_CERT_EXPIRED", reason: "its certificate expired" },
  ...parts,
});

test("refusals of one address, listener, code and certificate are one row, whatever the port", () => {
  const peers = new RefusedPeers();
  peers.add(peer({ certificate }), 1_000);
  peers.add(peer({ certificate, remote: "10.0.3.7:4712", agentId: "node-1" }), 3_000);
  expect(peers.list()).toEqual([
    {
      ...{ id: 1, listener: "agents", address: "10.0.3.7", code: "DB_PEER_CERT_EXPIRED", agentId: "node-1" },
      ...{ reason: "its certificate expired", remedy: expect.stringContaining("Renew"), certificate },
      ...{ count: 2, firstAt: 1_000, at: 3_000 },
    },
  ]);
  expect(peers.total).toBe(2);
});

test("a row says when a peer of its address was accepted at its listener since, until the next refusal", () => {
  const peers = new RefusedPeers();
  peers.add(peer(), 1_000);
  peers.accepted("agents", "10.0.3.8:1", 2_000);
  peers.accepted("grpc frontend", "10.0.3.7:1", 2_000);
  expect(peers.list()[0]).not.toHaveProperty("acceptedAt");
  peers.accepted("agents", "10.0.3.7:1", 3_000);
  peers.accepted("agents", "10.0.3.7:2", 4_000);
  expect(peers.list()[0]?.acceptedAt).toBe(3_000);
  peers.add(peer(), 5_000);
  expect(peers.list()[0]).not.toHaveProperty("acceptedAt");
});

test("a row with a certificate is over only when a peer with its subject is accepted from its address", () => {
  const peers = new RefusedPeers();
  peers.add(peer({ certificate: { ...certificate, subject: "CN=agent,O=b" } }), 1_000);
  peers.accepted("agents", "10.0.3.7:1", 2_000);
  peers.accepted("agents", "10.0.3.7:1", 2_000, () => "CN=other");
  peers.accepted("agents", "10.0.3.8:1", 2_000, () => "CN=agent,O=b");
  expect(peers.list()[0]).not.toHaveProperty("acceptedAt");
  peers.accepted("agents", "10.0.3.7:1", 3_000, () => "O=b,CN=agent");
  expect(peers.list()[0]?.acceptedAt).toBe(3_000);
});

test("one that did not accept the listener's certificate is over once that was replaced, until it comes again", () => {
  const source = {};
  const peers = new RefusedPeers();
  const end = peers.keep(source);
  const distrusts = peer({ code: "DB_PEER_DISTRUSTS" });
  peers.add(distrusts, 1_000);
  peers.add(peer({ listener: "grpc frontend", code: "DB_PEER_HUNG_UP" }), 1_000);
  peers.add(peer(), 1_000);
  certificatesReloaded.publish({ source, listener: "agents", files: [] });
  expect(peers.list().map(({ replacedAt }) => replacedAt)).toEqual([undefined, undefined, expect.any(Number)]);
  peers.add(distrusts, 2_000);
  expect(peers.list()[0]).not.toHaveProperty("replacedAt");
  end();
});

test("agents and callers that the process accepts are taken note of", () => {
  const source = {};
  const peers = new RefusedPeers();
  const end = peers.keep(source);
  const fields = { agentId: "a", identifiers: "", stream: 1, drawbridge: true };
  peers.add(peer(), 1_000);
  peers.add(peer({ listener: "http-connect frontend" }), 1_000);
  serverAgentConnected.publish({ source, remote: "10.0.3.7:5", ...fields });
  callerAccepted.publish({ source, listener: "http-connect frontend", remote: "10.0.3.7:6" });
  expect(peers.list().map(({ acceptedAt }) => acceptedAt)).toEqual([expect.any(Number), expect.any(Number)]);
  end();
});

test("another address, listener, code or certificate is another row, and the newest comes first", () => {
  const peers = new RefusedPeers();
  const others = [
    peer(),
    peer({ remote: "[fd00::7]:1" }),
    peer({ remote: "unix" }),
    peer({ listener: "grpc frontend" }),
    peer({ code: "DB_PEER_NO_CERT" }),
    peer({ certificate }),
    peer({ certificate: { ...certificate, serial: "0b" } }),
    peer({ certificate: { ...certificate, issuer: "CN=other" } }),
  ];
  for (const [at, other] of others.entries()) peers.add(other, at);
  peers.add(others[1]!, 100);
  expect(peers.list().map(({ id }) => id)).toEqual([2, 8, 7, 6, 5, 4, 3, 1]);
  expect(peers.list().map(({ address }) => address)).toContain("fd00::7");
});

test("a stranger with thousands of certificates displaces only its own rows", () => {
  const peers = new RefusedPeers();
  for (let host = 1; host <= 20; host++) peers.add(peer({ remote: `10.0.3.${host}:1` }), host);
  for (let serial = 0; serial < 5_000; serial++) {
    peers.add(peer({ remote: "10.9.9.9:1", certificate: { ...certificate, serial: String(serial) } }), 100 + serial);
  }
  const list = peers.list();
  expect(list).toHaveLength(64);
  expect(list.filter(({ address }) => address !== "10.9.9.9")).toHaveLength(20);
  expect(list[0]?.certificate?.serial).toBe("4999");
  expect(peers.total).toBe(5_020);
});

test("peers of thousands of addresses at one listener leave the rows of the others", () => {
  const peers = new RefusedPeers();
  for (let host = 1; host <= 20; host++) peers.add(peer({ remote: `10.0.3.${host}:1` }), host);
  for (let host = 0; host < 5_000; host++) {
    peers.add(
      peer({ listener: "admin", code: "DB_ADMIN_REFUSED", remote: `[fd00::${host.toString(16)}]:1` }),
      100 + host,
    );
  }
  expect(peers.list().filter(({ listener }) => listener === "agents")).toHaveLength(20);
  expect(peers.list()[0]?.address).toBe("fd00::1387");
});

test("a stranger's texts are cut before they are shown", () => {
  const peers = new RefusedPeers();
  const endless = "x".repeat(100_000);
  peers.add(peer({ agentId: endless, reason: endless, certificate: { ...certificate, subject: endless } }), 1);
  expect(JSON.stringify(peers.list()).length).toBeLessThan(3_000);
});
