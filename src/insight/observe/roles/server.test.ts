/** The admin API of a real server and a real agent in this process, with real tunnels between them. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { connectCaller, readHead, tunnelTo } from "../../../../test/processes/fixture/connect.js";
import { type Fixture, openFixture } from "../../../../test/processes/fixture/fixture.js";
import { payload, readExactly, readToEnd } from "../../../../test/support/callers/bytes.js";
import { waitUntil } from "../../../../test/support/processes/deadline.js";
import { startEcho } from "../../../../test/support/targets/echo.js";
import { listen, type Target } from "../../../../test/support/targets/listener.js";
import type { RunningHttp } from "../../../base/http.js";
import { Logger } from "../../../base/log/log.js";
import { MetricsRegistry } from "../../../base/metrics/registry.js";
import { type ServerDialEnded, serverDialEnded } from "../../../tunnel/events/channels.js";
import { dialIdHeader } from "../../../tunnel/wire/connect.js";
import { newProbeDialId } from "../../../tunnel/wire/dial-id.js";
import type {
  AgentPeer,
  CertificateInfo,
  Dump,
  ExplainedRefusal,
  Forecast,
  HistoryInfo,
  Overview,
  Page,
  Refusal,
  ServerPeer,
  TunnelRow,
} from "../admin/contract.js";
import { type Asking, ask } from "../admin/testing/asker.js";
import { startAdmin } from "../admin.js";
import { logEvents } from "../log-events.js";
import { ObservedAgent } from "./agent.js";
import { ObservedServer } from "./server.js";

const TOKEN = "a-token";
let fixture: Fixture;
let echo: Target;
const ports: Record<"server" | "agent", RunningHttp | undefined> = { server: undefined, agent: undefined };

beforeEach(async () => {
  fixture = await openFixture();
  echo = await startEcho();
  const tokenFile = join(fixture.dir, "admin-token");
  writeFileSync(tokenFile, TOKEN);
  const subjects = { server: new ObservedServer(fixture.server), agent: new ObservedAgent(fixture.agent) };
  const sources = { server: fixture.server, agent: fixture.agent };
  for (const role of ["server", "agent"] as const) {
    const subject = subjects[role];
    subject.remember();
    ports[role] = await startAdmin({ host: "127.0.0.1", port: 0 }, new MetricsRegistry(), {
      ...{ source: sources[role], version: "1.2.3", subject, refusals: subject.refusals, ended: subject.ended },
      ...{ tokenFile, profiling: false },
    });
  }
});
afterEach(async () => {
  await Promise.all([ports.server?.close(), ports.agent?.close(), fixture.close()]);
  await echo.close();
});

async function get<T>(role: "server" | "agent", path: string): Promise<T> {
  const answer = await asked(role, path);
  expect([path, answer.status]).toEqual([path, 200]);
  return answer.json<T>();
}

const asked = (role: "server" | "agent", path: string, asking: Asking = {}) =>
  ask(ports[role]!.port, `/drawbridge/v1/${path}`, { headers: { authorization: `Bearer ${TOKEN}` }, ...asking });

const post = async (role: "server" | "agent", path: string) => (await asked(role, path, { method: "POST" })).status;

async function theOne<T>(role: "server" | "agent", list: string): Promise<T> {
  const { items } = await get<Page<T>>(role, list);
  expect(items).toHaveLength(1);
  return items[0]!;
}

describe("a tunnel", () => {
  test("is the same at both ends, with its bytes and the moments of its life", async () => {
    const socket = await tunnelTo(fixture, echo.address);
    const before = Date.now();
    const bytes = payload("there and back", 50_000);
    socket.write(bytes);
    await readExactly(socket, bytes.length);
    const atServer = await theOne<TunnelRow>("server", "tunnels");
    const atAgent = await theOne<TunnelRow>("agent", "tunnels");
    for (const tunnel of [atServer, atAgent]) {
      expect(tunnel).toMatchObject({
        target: echo.address,
        state: "open",
        bytesToTarget: 50_000,
        bytesFromTarget: 50_000,
      });
      expect(Math.abs(tunnel.askedAt - before)).toBeLessThan(60_000);
      const { dialled = -1, answered = -1, firstByteToTarget = -1, firstByteFromTarget = -1 } = tunnel.marks;
      const inOrder = [0, dialled, answered, firstByteToTarget, firstByteFromTarget];
      expect([...inOrder].sort((one, two) => one - two)).toEqual(inOrder);
      expect(tunnel.marks.ended).toBeUndefined();
      expect(tunnel.sendWindowBytes).toBeGreaterThan(0);
      expect(tunnel.receiveWindowBytes).toBeGreaterThanOrEqual(65_536);
    }
    expect(atServer.connectId).toBe(atAgent.connectId);
    expect(atServer).toMatchObject({ frontend: "http-connect", agent: { id: "agent-1" } });
    expect(atAgent.server).toMatchObject({ id: "fixture" });
    expect(await get("server", `tunnels/${atServer.id}`)).toMatchObject({ id: atServer.id });
    socket.destroy();
  });

  test("shows which of its ends has nothing more to send", async () => {
    const target = await listen((socket) => socket.end("that is all"));
    const socket = await tunnelTo(fixture, target.address);
    await readToEnd(socket);
    const tunnel = await theOne<TunnelRow>("server", "tunnels");
    expect(tunnel.state).toBe("half-closed");
    expect(tunnel.marks.targetEnded).toBeGreaterThan(0);
    expect(tunnel.marks.callerEnded).toBeUndefined();
    expect((await theOne<TunnelRow>("agent", "tunnels")).marks.targetEnded).toBeGreaterThan(0);
    socket.end();
    await waitUntil("the tunnel to be over", async () => (await get<Page<TunnelRow>>("server", "ended")).total === 1);
    const ended = await theOne<TunnelRow>("server", "ended");
    expect(ended).toMatchObject({ id: tunnel.id, state: "closed", endReason: "both ends closed", bytesFromTarget: 11 });
    expect(ended.marks.ended).toBeGreaterThanOrEqual(ended.marks.callerEnded!);
    await target.close();
  });

  test("is in its link's sums at either end, which nobody adds up tunnel by tunnel, also when it has ended", async () => {
    const subjects = { server: new ObservedServer(fixture.server), agent: new ObservedAgent(fixture.agent) };
    const links = [...fixture.server.board.registry.links(), ...fixture.agent.links()];
    const walks = links.map(({ tunnels }) => vi.spyOn(tunnels, "values"));
    const sums = () =>
      [...subjects.server.agents(), ...subjects.agent.servers()].map((peer) => [
        ...[peer.bytesToTarget, peer.bytesFromTarget, peer.tunnels],
      ]);
    for (const [at, size] of [3_000, 500].entries()) {
      const socket = await tunnelTo(fixture, echo.address);
      socket.write(payload("there and back", size));
      await readExactly(socket, size);
      const sum = at === 0 ? 3_000 : 3_500;
      expect(sums()).toEqual(Array(2).fill([sum, sum, 1]));
      socket.destroy();
      await waitUntil("the tunnel to be over", () => sums().every(([, , open]) => open === 0));
      expect(sums()).toEqual(Array(2).fill([sum, sum, 0]));
    }
    for (const walk of walks) expect(walk).not.toHaveBeenCalled();
  });

  test("that was never answered is listed with the reason", async () => {
    const { address } = echo;
    await echo.close();
    const socket = await connectCaller(fixture);
    socket.write(`CONNECT ${address} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    expect(await readHead(socket)).not.toContain("200");
    socket.destroy();
    for (const role of ["server", "agent"] as const) {
      const failed = await theOne<TunnelRow>(role, "ended");
      expect(failed).toMatchObject({ target: address, state: "failed", bytesToTarget: 0 });
      expect(failed.lastError).toContain("connection refused");
      expect(failed.marks.answered).toBeUndefined();
    }
    const { totals } = await get<Overview>("server", "");
    expect(totals).toMatchObject({ dialsEstablished: 0, dialsFailed: 1, tunnelsOpen: 0 });
  });

  test("to the port that a sidecar's probe asks an agent for is no failure once the agent has answered", async () => {
    const lines: string[] = [];
    const write = (bytes: Buffer, done: (problem: null) => void) => {
      lines.push(String(bytes));
      done(null);
    };
    const logger = new Logger({ format: "text", verbosity: 4, write });
    const ends = [fixture.server, fixture.agent].map((source) => logEvents(logger, source));
    const socket = await connectCaller(fixture);
    socket.write(`CONNECT 127.0.0.1:9 HTTP/1.1\r\nHost: 127.0.0.1\r\n${dialIdHeader(newProbeDialId())}\r\n`);
    expect(await readHead(socket)).toContain("502");
    socket.destroy();
    for (const role of ["server", "agent"] as const) {
      expect((await get<Page<TunnelRow>>(role, "ended")).items).toEqual([]);
      const { totals } = await get<Overview>(role, "");
      expect(totals).toMatchObject({ dialsFailed: 0, dialsEstablished: 0, dialsPending: 0 });
    }
    for (const end of ends) end();
    expect(lines.filter((line) => /127\.0\.0\.1:9(?!\d)/.test(line))).toEqual([]);
  });

  test("that says nothing of its target is not held against it", async () => {
    const facts = { source: fixture.server, frontend: "grpc", dialId: 1n, durationMs: 3, agentId: "one" } as const;
    const ended = (outcome: ServerDialEnded["outcome"], address: string, error: string) =>
      serverDialEnded.publish({ ...facts, outcome, address, error });
    ended("unrecognized_response", "", "the agent answered a dial that nobody waits for");
    ended("frontend_close", "10.0.0.1:1", "the caller gave up");
    ended("send_rsp", "10.0.0.1:2", "the caller was gone when the dial succeeded");
    ended("backend_close", "10.0.0.1:3", "the agent's stream ended");
    const socket = await connectCaller(fixture);
    socket.write("CONNECT 10.0.0.1:x HTTP/1.1\r\nHost: a\r\n\r\n");
    await readHead(socket);
    socket.destroy();
    const { targets, failures } = await get<HistoryInfo>("server", "history");
    expect(targets.map((each) => [each.target, Math.max(...each.failures)])).toEqual([["10.0.0.1:2", 0]]);
    expect(failures.map(({ target }) => target)).not.toContain("");
  });

  test("is closed on request, at either end", async () => {
    for (const role of ["server", "agent"] as const) {
      const socket = await tunnelTo(fixture, echo.address);
      const { id } = await theOne<TunnelRow>(role, "tunnels");
      const over = readToEnd(socket);
      expect(await post(role, `tunnels/${id}/close`)).toBe(200);
      await over;
      expect(await post(role, `tunnels/${id}/close`)).toBe(404);
      socket.destroy();
      await waitUntil(
        "both ends to forget it",
        () => fixture.server.board.establishedTunnels === 0 && fixture.agent.idle,
      );
      const { items } = await get<Page<TunnelRow>>(role, "ended");
      expect(items[0]).toMatchObject({ id, state: "closed", endReason: "closed by an operator" });
    }
  });
});

describe("the overview", () => {
  test("lists the peer at the other end", async () => {
    const socket = await tunnelTo(fixture, echo.address);
    socket.write("ping");
    await readExactly(socket, 4);
    await waitUntil("the first ping's answer", async () => {
      return (await theOne<AgentPeer>("server", "agents")).roundTripMs !== undefined;
    });
    const agent = await theOne<AgentPeer>("server", "agents");
    expect(agent).toMatchObject({
      ...{ id: "agent-1", drawbridge: true, version: "drawbridge", draining: false, tunnels: 1, pendingDials: 0 },
      ...{ bytesToTarget: 4, bytesFromTarget: 4, principal: expect.stringContaining("CN=") },
    });
    expect(agent.roundTripMs).toBeGreaterThan(0);
    expect(Math.abs(agent.connectedAt - Date.now())).toBeLessThan(60_000);
    const server = await theOne<ServerPeer>("agent", "servers");
    expect(server).toMatchObject({ id: "fixture", drawbridge: true, tunnels: 1, bytesToTarget: 4, bytesFromTarget: 4 });
    socket.destroy();
    // What is over still counts.
    await waitUntil("the tunnel to be over", () => fixture.server.board.establishedTunnels === 0);
    expect(await theOne<AgentPeer>("server", "agents")).toMatchObject({ tunnels: 0, bytesToTarget: 4 });
    const { totals, process } = await get<Overview>("server", "");
    expect(totals).toMatchObject({ bytesToTarget: 4, bytesFromTarget: 4, dialsEstablished: 1 });
    expect(process).toMatchObject({ role: "server", id: "fixture", version: "1.2.3", strategies: ["default"] });
  });

  test("has the certificates with their ends, and no key", async () => {
    for (const role of ["server", "agent"] as const) {
      const { items } = await get<Page<CertificateInfo>>(role, "certificates");
      expect(new Set(items.map(({ kind }) => kind))).toEqual(new Set(["own", "trusted"]));
      for (const { notAfterAt, subject, fingerprint } of items) {
        expect(notAfterAt).toBeGreaterThan(Date.now());
        expect(subject).toContain("CN=");
        expect(fingerprint).toMatch(/^[0-9a-f]{64}$/);
      }
    }
    const dump = await asked("server", "dump");
    expect(dump.body).not.toMatch(/PRIVATE|BEGIN|a-token/);
    expect(dump.json<Dump>()).toMatchObject({ process: { id: "fixture" }, tunnels: [], agents: [{ id: "agent-1" }] });
  });
});

test("a ping of an agent measures its link anew, and nobody else can be pinged", async () => {
  const { key } = await theOne<AgentPeer>("server", "agents");
  expect(await post("server", `agents/${key}/ping`)).toBe(200);
  expect((await get<AgentPeer>("server", `agents/${key}`)).roundTripMs).toBeGreaterThan(0);
  expect(await post("server", "agents/4711/ping")).toBe(404);
  expect(await post("agent", "agents/1/ping")).toBe(409);
});

describe("draining", () => {
  test("an agent at its server sends new dials elsewhere, and its tunnels go on", async () => {
    const socket = await tunnelTo(fixture, echo.address);
    await fixture.addAgent({ agentId: "other" });
    const { items } = await get<Page<AgentPeer>>("server", "agents");
    const [first] = items;
    expect(await post("server", `agents/${first!.key}/drain`)).toBe(200);
    const more = await Promise.all(Array.from({ length: 10 }, () => tunnelTo(fixture, echo.address)));
    const agents = await get<Page<AgentPeer>>("server", "agents");
    expect(agents.items.map(({ id, draining, tunnels }) => [id, draining, tunnels])).toEqual([
      ["agent-1", true, 1],
      ["other", false, 10],
    ]);
    socket.write("still here");
    expect(String(await readExactly(socket, 10))).toBe("still here");
    for (const each of [socket, ...more]) each.destroy();
    expect(await post("server", "agents/4711/drain")).toBe(404);
  });

  test("an agent itself informs all its servers", async () => {
    expect(await post("agent", "drain")).toBe(200);
    await waitUntil("the server to know", async () => (await theOne<AgentPeer>("server", "agents")).draining);
    expect((await get<Overview>("agent", "")).process).toMatchObject({
      draining: true,
      drainingSinceAt: expect.any(Number),
    });
    expect(await post("server", "drain")).toBe(409);
    expect(await post("agent", "agents/1/drain")).toBe(409);
  });
});

describe("explaining a target", () => {
  test("names the agents that would be asked, and at an agent the result of its policy", async () => {
    const forecast = await get<Forecast>("server", `explain?target=${echo.address}`);
    expect(forecast).toMatchObject({
      ...{ possible: true, strategy: "default", candidates: [{ id: "agent-1", status: "ready", load: 0 }] },
      explanation: { agentsConnected: 1, considered: [{ agentId: "agent-1", passedOver: "it matches" }] },
    });
    expect(await get("agent", `explain?target=${echo.address}`)).toMatchObject({ possible: true });
    const denied = await get<Forecast>("agent", "explain?target=169.254.169.254:80");
    expect(denied).toMatchObject({ possible: false, why: expect.stringContaining("cloud metadata") });
    expect(await get("agent", "explain?target=nothing")).toMatchObject({ possible: false });
    expect((await asked("server", "explain")).status).toBe(400);
  });

  test("that no agent takes is refused, with the reasons under its reference", async () => {
    await fixture.agent.stop();
    await waitUntil("the agent to be gone", () => fixture.server.board.registry.size === 0);
    const socket = await connectCaller(fixture);
    socket.write(`CONNECT ${echo.address} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    await readHead(socket);
    const refusal = await theOne<Refusal>("server", "refusals");
    expect(refusal).toMatchObject({ target: echo.address, why: "No agent is connected." });
    const explained = await get<ExplainedRefusal>("server", `refusals/${refusal.id}`);
    expect(explained.explanation).toMatchObject({ agentsConnected: 0, strategies: [{ name: "default" }] });
    expect((await theOne<TunnelRow>("server", "ended")).refusalId).toBe(refusal.id);
    expect((await get<Forecast>("server", `explain?target=${echo.address}`)).possible).toBe(false);
    socket.destroy();
  });
});

test("tunnels that are being dialled are listed, too", async () => {
  const subject = new ObservedServer(fixture.server);
  const link = [...fixture.server.board.registry.links()][0]!;
  const dial = { asked: { id: 99, address: "a:1", frontend: "grpc" as const, askedAt: 1, dialledAt: 1 } };
  link.dial(7n, "udp", "a:1", {
    ...dial,
    onAgentAnswer() {},
    onAgentError() {},
    onAgentClosedDial() {},
    onAgentLost() {},
  } as unknown as Parameters<typeof link.dial>[3]);
  expect([...subject.tunnels()].map((tunnel) => tunnel.describe())).toMatchObject([
    { id: 99, target: "a:1", state: "dialing", agent: { id: "agent-1" }, bytesToTarget: 0 },
  ]);
  await waitUntil("the agent's answer", () => link.pendingDials === 0);
});
