import { afterEach, describe, expect, test } from "vitest";
import { processConnections } from "../../base/connections.js";
import { Logger } from "../../base/log/log.js";
import { ManualClock } from "../../base/testing/manual-clock.js";
import type { ServerLink } from "../../tunnel/agent/server-link.js";
import type { Tunnel } from "../../tunnel/connection/tunnel.js";
import * as channels from "../../tunnel/events/channels.js";
import type { AgentLink } from "../../tunnel/server/agents/agent-link.js";
import { logEvents } from "./log-events.js";

const source = { name: "observed" };
let end = () => {};
let lines: Record<string, unknown>[] = [];
let clock = new ManualClock();

function listen(verbosity: number): void {
  lines = [];
  clock = new ManualClock();
  const logger = new Logger({
    format: "json",
    verbosity,
    write: (bytes, done) => {
      for (const line of bytes.toString().trimEnd().split("\n"))
        lines.push(JSON.parse(line) as Record<string, unknown>);
      done(null);
    },
  });
  end = logEvents(logger, source, clock);
}

const dial = { source, frontend: "grpc", address: "10.0.0.1:443", dialId: 5n, durationMs: 2, error: "" } as const;
const refusal = {
  source,
  referenceId: "r-1",
  address: "10.0.0.1:443",
  explanation: { strategies: [{ name: "default", keys: 0, matches: 0 }] },
};

describe("logEvents", () => {
  afterEach(() => end());

  test("logs agents, refusals with their explanation, cuts and certificates at the default verbosity", () => {
    listen(4);
    channels.serverAgentConnected.publish({
      source,
      agentId: "a-1",
      identifiers: "host=n1",
      stream: 3,
      remote: "127.0.0.1:5000",
      drawbridge: true,
    });
    channels.serverRefused.publish(refusal);
    channels.tunnelCut.publish({
      source,
      code: "DB_SLOW_READER",
      address: "10.0.0.1:443",
      connectId: 8,
      queuedBytes: 4096,
      reason: "slow",
    });
    channels.certificatesReloaded.publish({ source, listener: "agents", files: ["a.pem"] });
    channels.certificatesRefused.publish({ source, listener: "agents", files: ["a.pem"], error: "it is not PEM" });
    channels.certificatesUsable.publish({ source, listener: "agents", files: ["a.pem"] });
    channels.noteChannel.publish({ source, level: "warn", message: "something else", fields: { n: 1 } });
    expect(lines.map(({ time: _time, pid: _pid, ...line }) => line)).toEqual([
      {
        level: "info",
        message: "agent connected",
        agentId: "a-1",
        identifiers: "host=n1",
        stream: 3,
        remote: "127.0.0.1:5000",
        drawbridge: true,
      },
      {
        level: "warn",
        message: "dial was refused",
        referenceId: "r-1",
        address: "10.0.0.1:443",
        explanation: { strategies: [{ name: "default", keys: 0, matches: 0 }] },
      },
      {
        level: "warn",
        message: "a tunnel was cut because its reader is too slow",
        code: "DB_SLOW_READER",
        address: "10.0.0.1:443",
        connectId: 8,
        queuedBytes: 4096,
        reason: "slow",
      },
      {
        level: "info",
        message: "certificates were replaced on disk and are in use",
        listener: "agents",
        files: ["a.pem"],
      },
      {
        level: "error",
        message: "changed certificate files cannot be used; the old ones stay in use",
        listener: "agents",
        files: ["a.pem"],
        error: "it is not PEM",
      },
      {
        level: "info",
        message: "the certificate files on disk are those in use again",
        listener: "agents",
        files: ["a.pem"],
      },
      { level: "warn", message: "something else", n: 1 },
    ]);
  });

  test.each([
    [4, 0],
    [5, 2],
  ])("at verbosity %i writes %i lines for a tunnel's life", (verbosity, expected) => {
    listen(verbosity);
    channels.serverDialEnded.publish({ ...dial, outcome: "established" });
    channels.serverTunnelClosed.publish({
      source,
      link: {} as AgentLink,
      tunnel: {} as Tunnel,
      frontend: "grpc",
      address: "10.0.0.1:443",
      agentId: "a-1",
      connectId: 8,
      durationMs: 100,
      bytesToAgent: 1,
      bytesToClient: 2,
      reason: "client closed",
    });
    expect(lines).toHaveLength(expected);
  });

  test("logs which connection was closed before its peer was known, and why, at a bounded rate", () => {
    listen(4);
    const closed = { listener: "agent", remote: "10.0.0.9:4711", reason: "handshake-timeout" } as const;
    for (let i = 0; i < 1_000; i++) processConnections.report(closed);
    expect(lines[0]).toMatchObject({
      message: "a connection was closed: its TLS handshake was not finished in time",
      listener: "agent",
      remote: "10.0.0.9:4711",
    });
    expect(lines.length).toBeLessThan(200);
  });

  test("gives a refused dial one line, not two", () => {
    listen(4);
    channels.serverRefused.publish(refusal);
    channels.serverDialEnded.publish({ ...dial, outcome: "no_agent", error: "No agent available", referenceId: "r-1" });
    channels.serverDialEnded.publish({ ...dial, outcome: "error_response", error: "connection refused" });
    expect(lines.map((line) => line.message)).toEqual(["dial was refused", "dial failed"]);
  });

  test("limits a flood of failures and logs how many lines it left out", () => {
    listen(4);
    for (let count = 0; count < 1000; count++) channels.serverRefused.publish(refusal);
    expect(lines).toHaveLength(100);
    clock.advance(50);
    channels.serverRefused.publish(refusal);
    expect(lines).toHaveLength(101);
    expect(lines.at(-1)).toMatchObject({ similarLinesLeftOut: 900 });
  });

  test.each([
    ["agent connected", channels.serverAgentConnected],
    ["agent disconnected", channels.serverAgentDisconnected],
    ["agent is draining", channels.serverAgentDraining],
    ["connected to server", channels.agentServerConnected],
    ["lost server", channels.agentServerDisconnected],
    ["something", channels.noteChannel],
  ] as const)("writes 100 of 1,000 lines that come at once, and the number of the others: %s", (message, channel) => {
    listen(4);
    const event = {
      source,
      agentId: "a-1",
      stream: 1,
      remote: "",
      error: "",
      level: "warn",
      message,
      reason: "",
    };
    for (let count = 0; count < 1000; count++) channel.publish(event as never);
    expect(lines).toHaveLength(100);
    clock.advance(10_000);
    expect(lines).toHaveLength(101);
    expect(lines.at(-1)).toMatchObject({ message: expect.stringContaining("left out"), count: 900 });
    clock.advance(10_000);
    expect(lines).toHaveLength(101);
  });

  test.each([
    ["agents", "peer was rejected", "peer gave up"],
    ["grpc frontend", "caller was rejected", "caller gave up"],
    ["admin", "admin client was rejected", "admin client gave up"],
  ])("writes who was refused at %s, by which certificate, why, and what to do", (listener, message, itself) => {
    listen(0);
    const certificate = { subject: "CN=a", issuer: "CN=b", serial: "0a", notBeforeAt: 0, notAfterAt: Number.NaN };
    const peer = { remote: "10.0.3.7:1", code: "DB_PEER_CERT_EXPIRED", reason: "its certificate expired" } as const;
    channels.peerRefused.publish({ source, listener, ...peer, certificate });
    expect(lines).toEqual([
      expect.objectContaining({
        ...{ message, listener, ...peer, subject: "CN=a", issuer: "CN=b", serial: "0a" },
        ...{ notBefore: "1970-01-01T00:00:00.000Z", notAfter: "a time out of range" },
        remedy: expect.stringContaining("Renew"),
      }),
    ]);
    const silent = { ...peer, code: "DB_PEER_HUNG_UP", reason: "it hung up" } as const;
    channels.peerRefused.publish({ source, listener, ...silent });
    expect(lines[1]).toMatchObject({ message: itself, ...silent });
  });

  test("a refused peer that comes a thousand times is one line in ten seconds, and hides no other", () => {
    listen(0);
    const peer = { source, listener: "agents", code: "DB_PEER_NO_CERT", reason: "it showed no certificate" } as const;
    const come = (remote: string) => channels.peerRefused.publish({ ...peer, remote });
    for (let port = 1; port <= 1000; port++) come(`10.0.0.1:${port}`);
    come("10.0.3.7:1");
    expect(lines.map(({ remote }) => remote)).toEqual(["10.0.0.1:1", "10.0.3.7:1"]);
    clock.advance(10_000);
    come("10.0.0.1:2000");
    expect(lines.at(-1)).toMatchObject({ remote: "10.0.0.1:2000", times: 1000 });
  });

  test("refused peers from a thousand addresses are as many lines as any other flood", () => {
    listen(0);
    const peer = { source, listener: "agents", code: "DB_PEER_NO_CERT", reason: "it showed no certificate" } as const;
    for (let host = 0; host < 1000; host++) channels.peerRefused.publish({ ...peer, remote: `host${host}:1` });
    expect(lines).toHaveLength(100);
  });

  test("logs a single event beside a flood of others", () => {
    listen(4);
    const agent = { source, agentId: "a-1", stream: 3 };
    for (let count = 0; count < 1000; count++) channels.serverAgentDisconnected.publish({ ...agent, reason: "EOF" });
    channels.serverRefused.publish(refusal);
    expect(lines.at(-1)).toMatchObject({ message: "dial was refused" });
  });

  test("repeats why an agent cannot connect when the cause changes and once a minute, not with every attempt", () => {
    listen(4);
    const address = "10.0.0.9:8091";
    const fail = (code: "DB_CONNECT_REFUSED" | "DB_TLS_OWN_EXPIRED", error: string) =>
      channels.agentServerConnectFailed.publish({ source, address, error, code, remedy: "Renew it." });
    for (let minutes = 0; minutes < 9; minutes++) fail("DB_TLS_OWN_EXPIRED", `expired ${minutes} min ago`);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ code: "DB_TLS_OWN_EXPIRED", remedy: "Renew it.", error: "expired 0 min ago" });
    for (let attempt = 0; attempt < 3; attempt++) fail("DB_CONNECT_REFUSED", "refused");
    expect(lines).toHaveLength(2);
    clock.advance(60_000);
    fail("DB_CONNECT_REFUSED", "refused");
    expect(lines.at(-1)).toMatchObject({ code: "DB_CONNECT_REFUSED", times: 3 });
    channels.agentServerConnected.publish({ source, address, serverId: "s", serverCount: 1 });
    fail("DB_CONNECT_REFUSED", "refused");
    expect(lines.map(({ message }) => message).slice(3)).toEqual([
      "connected to server",
      "cannot connect to server; trying again",
    ]);
  });

  test("logs the events of an agent", () => {
    listen(4);
    const server = { source, serverId: "s-1", address: "10.0.0.9:8091" };
    channels.agentServerConnected.publish({ ...server, serverCount: 2 });
    channels.agentServerConnectFailed.publish({ source, address: server.address, error: "connection refused" });
    channels.agentDuplicateServer.publish(server);
    channels.agentServerDisconnected.publish({ ...server, reason: "EOF" });
    const agentDial = {
      ...{ source, address: "10.0.0.1:443", connectId: 1, error: "denied", durationMs: 1 },
      link: {} as ServerLink,
      asked: { id: 1, address: "10.0.0.1:443", askedAt: 0, dialledAt: 0 },
    };
    channels.agentDialEnded.publish({ ...agentDial, outcome: "policy" });
    channels.agentDialEnded.publish({ ...agentDial, outcome: "timeout" });
    channels.agentDialEnded.publish({ ...agentDial, outcome: "established" });
    channels.agentDraining.publish({ source });
    expect(lines.map((line) => line.message)).toEqual([
      "connected to server",
      "cannot connect to server; trying again",
      "reached a server that is already connected",
      "lost server",
      "dial was denied by the destination policy",
      "dial failed",
      "draining: servers were asked to prefer others",
    ]);
  });

  test("logs nothing of other instances, and nothing after its end", () => {
    listen(4);
    channels.agentDraining.publish({ source: { name: "other" } });
    end();
    channels.agentDraining.publish({ source });
    expect(lines).toEqual([]);
  });
});
