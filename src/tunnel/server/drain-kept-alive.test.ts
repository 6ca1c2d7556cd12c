/** Kept-alive connections at the end of a server or an agent: closed between two requests, not cut in the middle of one. */
import http from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { connectCaller, readHead, tunnelTo } from "../../../test/processes/fixture/connect.js";
import { type Fixture, type FixturePlan, openFixture } from "../../../test/processes/fixture/fixture.js";
import { rawAgent } from "../../../test/processes/fixture/grpc.js";
import { readExactly } from "../../../test/support/callers/bytes.js";
import { waitUntil } from "../../../test/support/processes/deadline.js";
import { startEcho } from "../../../test/support/targets/echo.js";
import { startSteered } from "../../../test/support/targets/half-open.js";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { ProxyAgent } from "../agent/agent.js";
import type { Frontend } from "../client/frontend.js";
import { createHttpAgent } from "../client/http-agent.js";
import { noteChannel, serverTunnelClosed } from "../events/channels.js";

let fixture: Fixture;
const endings: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function open(plan: FixturePlan = {}): Promise<void> {
  fixture = await openFixture(plan);
  endings.push(() => fixture.close());
}

/** What the server says at the end, and how tunnels ended. */
function listen(): { notes: object[]; ends: string[] } {
  const notes: object[] = [];
  const ends: string[] = [];
  endings.push(
    noteChannel.subscribe(({ level, fields }) => notes.push({ level, ...fields }), fixture.server),
    serverTunnelClosed.subscribe(({ reason }) => ends.push(reason), fixture.server),
  );
  return { notes, ends };
}

/** Time in small steps, each with some turns of the event loop, until the promise has settled. */
async function settles<T>(clock: ManualClock, promise: Promise<T>): Promise<{ value: T; afterMs: number }> {
  const began = clock.now();
  let settled: { value: T } | undefined;
  void promise.then((value) => {
    settled = { value };
  });
  await pass(clock, 60_000, () => settled === undefined);
  return { ...settled!, afterMs: clock.now() - began };
}

async function pass(clock: ManualClock, ms: number, goesOn = () => true): Promise<void> {
  for (let passed = 0; passed < ms && goesOn(); passed += 5) {
    clock.advance(5);
    for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
  }
}

const isClosed = (socket: Socket) => socket.readableEnded || socket.destroyed;

/** A tunnel on which something was asked and answered. */
async function answeredTunnel(): Promise<Socket> {
  const echo = await startEcho();
  endings.push(() => echo.close());
  const socket = await tunnelTo(fixture, echo.address);
  endings.push(() => socket.destroy());
  socket.write("question");
  expect(String(await readExactly(socket, 8))).toBe("question");
  socket.resume();
  return socket;
}

/** A tunnel whose endpoint has been asked and has not answered yet. */
async function askedTunnel(): Promise<{ socket: Socket; endpoint: Socket }> {
  const target = await startSteered();
  endings.push(() => target.close());
  const socket = await tunnelTo(fixture, target.address);
  endings.push(() => socket.destroy());
  socket.write("question");
  const conversation = await target.next();
  await waitUntil("the question", () => conversation.received().length === 8);
  return { socket, endpoint: conversation.socket };
}

/** How each ends; resolves to the number of tunnels that are left then. */
const ENDS = {
  "a server that ends": async (limitMs: number) =>
    (await fixture.server.drain(limitMs)) ? 0 : fixture.server.board.establishedTunnels,
  "an agent that ends": async (limitMs: number) => {
    theAgent.drain();
    const left = await theAgent.drained(limitMs);
    await theAgent.stop();
    return left;
  },
};

let theAgent: ProxyAgent;

/** Server and agent with the same clock. */
async function openWithClock(): Promise<ManualClock> {
  const clock = new ManualClock();
  await open({ parts: { runtime: clock } });
  await fixture.agent.stop();
  await waitUntil("the first agent to be gone", () => fixture.server.board.registry.size === 0);
  theAgent = new ProxyAgent(fixture.agent.config, { runtime: clock });
  endings.push(() => theAgent.stop());
  theAgent.start();
  await waitUntil("the agent to be connected", () => fixture.server.board.registry.size === 1);
  return clock;
}

describe.each(Object.entries(ENDS))("%s", (name, end) => {
  const about = name.replace("a server that ends", "this server").replace("an agent that ends", "its agent");

  test("closes what is silent only in the last 5 s of its 20 s, and does not wait for the rest", async () => {
    const clock = await openWithClock();
    const { ends } = listen();
    const socket = await answeredTunnel();
    const ended = end(20_000);
    await pass(clock, 14_900);
    expect(isClosed(socket)).toBe(false);
    const { value: left, afterMs } = await settles(clock, ended);
    expect([left, ends]).toEqual([0, [`closed between two requests: ${about} is about to end`]]);
    expect(afterMs).toBeLessThan(1_500);
    await waitUntil("the caller to see the close", () => isClosed(socket));
  });

  test("waits for the answer to a request, and closes then", async () => {
    const clock = await openWithClock();
    const { socket, endpoint } = await askedTunnel();
    const ended = end(20_000);
    await pass(clock, 18_000);
    expect(isClosed(socket)).toBe(false);
    endpoint.write("answer");
    expect(String(await readExactly(socket, 6))).toBe("answer");
    socket.resume();
    expect((await settles(clock, ended)).value).toBe(0);
  });

  test("cuts a request that is not answered in time, and the log counts it", async () => {
    const clock = await openWithClock();
    const { notes } = listen();
    await askedTunnel();
    await answeredTunnel();
    const { value: left, afterMs } = await settles(clock, end(20_000));
    expect(left).toBe(1);
    expect(afterMs).toBeGreaterThanOrEqual(20_000);
    const cut = expect.objectContaining({ level: "warn", closedBetweenRequests: 1, cut: 1 });
    await waitUntil("the log's line", () => notes.length > 0);
    expect(notes).toEqual([cut]);
  });

  test("has a closing phase of half its time, where that is short", async () => {
    const clock = await openWithClock();
    const socket = await answeredTunnel();
    const ended = end(4_000);
    await pass(clock, 1_900);
    expect(isClosed(socket)).toBe(false);
    expect((await settles(clock, ended)).afterMs).toBeLessThan(1_000);
  });
});

test("a server that ends closes tunnels through upstream's agents between requests, too", async () => {
  const clock = new ManualClock();
  await open({ agents: 0, parts: { runtime: clock } });
  const agent = rawAgent(fixture, { agentid: "upstream" });
  endings.push(() => agent.close());
  await waitUntil("it to be connected", () => fixture.server.board.registry.size === 1);
  const caller = await connectCaller(fixture);
  endings.push(() => caller.destroy());
  caller.write("CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: x\r\n\r\n");
  const asked = await waitUntil("the dial", () => agent.packets.find((packet) => packet.type === "DIAL_REQ"));
  agent.send({ type: "DIAL_RSP", error: "", connectId: 1, random: (asked as { random: bigint }).random });
  await readHead(caller);
  caller.write("question");
  await waitUntil("the question", () => String(agent.bytes()) === "question");
  agent.send({ type: "DATA", connectId: 1, data: Buffer.from("answer") });
  expect(String(await readExactly(caller, 6))).toBe("answer");
  caller.resume();
  expect((await settles(clock, fixture.server.drain(20_000))).value).toBe(true);
  expect(agent.packets).toContainEqual({ type: "CLOSE_REQ", connectId: 1 });
});

test("an agent that others are preferred to, and that has no deadline, keeps its kept-alive tunnels", async () => {
  const clock = await openWithClock();
  const socket = await answeredTunnel();
  // By the admin API, and by a first signal without --drain-timeout.
  theAgent.drain();
  theAgent.drain();
  await waitUntil("the server to know", () =>
    [...fixture.server.board.registry.links()].every((link) => link.draining),
  );
  await pass(clock, 30_000);
  expect(isClosed(socket)).toBe(false);
});

test("agents are replaced under steady requests on kept-alive connections, and no request is cut", async () => {
  await open();
  const load = await startRequests({ mode: "http-connect", uds: fixture.connectPath });
  let agent = fixture.agent;
  for (let round = 0; round < ROUNDS; round++) {
    const next = await fixture.addAgent({ agentId: `next-${round}` });
    agent.drain();
    await agent.drained(4_000);
    await agent.stop();
    await waitUntil("the server to know", () => fixture.server.board.registry.size === 1);
    agent = next;
  }
  const { answered, connections, cut, undelivered } = await load.stop();
  expect(cut).toEqual([]);
  expect(undelivered).toBeLessThan(CLIENTS);
  expect([connections >= 2 * CLIENTS, answered > 10 * CLIENTS]).toEqual([true, true]);
}, 60_000);

const ROUNDS = 2;
const CLIENTS = 8;

/**
 * Clients with one connection each, that pause between an answer and the next request. A request that comes to nothing is
 * cut when the endpoint had got it. One that crosses the close of its connection reaches no endpoint.
 */
async function startRequests(frontend: Frontend) {
  const arrived = new Set<string>();
  const failed = new Map<string, string>();
  let [answered, connections, stopped] = [0, 0, false];
  const target = http.createServer({ keepAliveTimeout: 0 }, (request, response) => {
    arrived.add(request.url!);
    request.resume().once("end", () => setTimeout(() => response.end("answered"), 15));
  });
  target.on("connection", () => connections++);
  await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
  endings.push(() => target.close().closeAllConnections());
  const { port } = target.address() as AddressInfo;
  const client = async (name: number) => {
    const agent = createHttpAgent(frontend, { keepAlive: true, maxSockets: 1 });
    for (let number = 0; !stopped; number++) {
      const path = `/${name}/${number}`;
      try {
        await post({ agent, port, path });
        answered++;
      } catch (error) {
        failed.set(path, String(error));
      }
      await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 60));
    }
    agent.destroy();
  };
  const running = Promise.all(Array.from({ length: CLIENTS }, (_, name) => client(name)));
  return {
    async stop() {
      stopped = true;
      await running;
      const cut = [...failed].filter(([path]) => arrived.has(path));
      return { answered, connections, cut, undelivered: failed.size - cut.length };
    },
  };
}

function post(where: http.RequestOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = http.request({ ...where, method: "POST", host: "127.0.0.1", timeout: 10_000 }, (response) => {
      response.resume().once("end", resolve).once("error", reject);
    });
    request.once("timeout", () => request.destroy(new Error("no answer within 10 s")));
    request.once("error", reject);
    request.end("body");
  });
}
