/** The end of a server and of an agent: what is under way arrives, and everyone else looks elsewhere. */
import type { Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { connectCaller, readHead, tunnelTo } from "../../../test/processes/fixture/connect.js";
import { type Fixture, type FixturePlan, openFixture } from "../../../test/processes/fixture/fixture.js";
import { rawAgent } from "../../../test/processes/fixture/grpc.js";
import { payload, readExactly, readToEnd, sha256 } from "../../../test/support/callers/bytes.js";
import { waitUntil } from "../../../test/support/processes/deadline.js";
import { startEcho } from "../../../test/support/targets/echo.js";
import { startSteered } from "../../../test/support/targets/half-open.js";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { ProxyServer } from "./server.js";

/** Much less than a tunnel's first window. */
const PIECE_BYTES = 16 * 1024;

let fixture: Fixture;
const endings: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
  await fixture.close();
});

async function open(plan: FixturePlan = {}): Promise<void> {
  fixture = await openFixture(plan);
}

/**
 * Has the endpoint speak until its caller's socket is full and the server keeps the rest, and returns what it said. How
 * much that takes is the kernel's business, and depends on the pieces in which the bytes come.
 */
async function fill(endpoint: Socket): Promise<Buffer> {
  const theTunnel = () => [...fixture.server.board.registry.links()].flatMap((link) => [...link.tunnels.values()])[0]!;
  const said: Buffer[] = [];
  while (theTunnel().port.queuedBytes === 0) {
    if (said.length > 4_096) throw new Error("the caller's socket does not get full");
    said.push(payload(`piece ${said.length}`, PIECE_BYTES));
    endpoint.write(said.at(-1)!);
    await waitUntil("it to arrive", () => theTunnel().bytesToNear === said.length * PIECE_BYTES);
  }
  return Buffer.concat(said);
}

async function echoes(socket: Socket, text: string): Promise<boolean> {
  socket.write(text);
  return String(await readExactly(socket, text.length)) === text;
}

test("a server that drains is not ready, admits no agent, and its tunnels go on", async () => {
  await open();
  const echo = await startEcho();
  endings.push(() => echo.close());
  const socket = await tunnelTo(fixture, echo.address);
  const drained = fixture.server.drain(60_000);
  expect([fixture.server.ready, fixture.server.unreadyReason]).toEqual([false, "shutting down"]);
  const late = fixture.launchAgent({ agentId: "late" });
  expect(await echoes(socket, "still here")).toBe(true);
  await waitUntil("the first agent to look elsewhere", () => !fixture.agent.ready);
  expect(late.ready).toBe(false);
  expect(await echoes(socket, "and still")).toBe(true);
  socket.destroy();
  expect(await drained).toBe(true);
});

test("agents are with the successor while the tunnels of the server that drains finish", async () => {
  await open();
  const echo = await startEcho();
  endings.push(() => echo.close());
  const socket = await tunnelTo(fixture, echo.address);
  const drained = fixture.server.drain(60_000);
  const successor = new ProxyServer({ ...fixture.server.config, serverId: "successor", listeners: [] });
  await successor.start();
  endings.push(() => successor.destroy());
  await waitUntil("the agent to find the successor", () => successor.ready && fixture.agent.ready);
  expect(await echoes(socket, "through the old one")).toBe(true);
  socket.end();
  await readToEnd(socket);
  expect(await drained).toBe(true);
});

test("a server waits for the last bytes that a slow caller has not taken yet", async () => {
  await open();
  const target = await startSteered();
  endings.push(() => target.close());
  const socket = await tunnelTo(fixture, target.address);
  socket.pause();
  const endpoint = (await target.next()).socket;
  const said = await fill(endpoint);
  endpoint.end();
  socket.end();
  await waitUntil("the tunnel to be over", () => fixture.server.board.establishedTunnels === 0);
  const drained = fixture.server.drain(60_000).then((all) => {
    fixture.server.destroy();
    return all;
  });
  const meanwhile = new Promise((resolve) => setTimeout(resolve, 300, "waits"));
  expect(await Promise.race([drained, meanwhile])).toBe("waits");
  const { bytes } = await readToEnd(socket);
  expect([bytes.length, sha256(bytes)]).toEqual([said.length, sha256(said)]);
  expect(await drained).toBe(true);
});

test("an agent of upstream's that carries nothing is released while others finish, and one that carries something stays", async () => {
  const clock = new ManualClock();
  await open({ agents: 0, parts: { runtime: clock } });
  const [idle, busy] = [rawAgent(fixture, { agentid: "idle" }), rawAgent(fixture, { agentid: "busy" })];
  endings.push(
    () => idle.close(),
    () => busy.close(),
  );
  await waitUntil("both to be connected", () => fixture.server.board.registry.size === 2);
  const links = [...fixture.server.board.registry.links()];
  links.find(({ identity }) => identity.agentId === "idle")!.drain();
  const caller = await connectCaller(fixture);
  caller.write("CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: x\r\n\r\n");
  const asked = await waitUntil("the dial", () => busy.packets.find((packet) => packet.type === "DIAL_REQ"));
  busy.send({ type: "DIAL_RSP", error: "", connectId: 1, random: (asked as { random: bigint }).random });
  await readHead(caller);
  const drained = fixture.server.drain(60_000);
  await waitUntil("its release", () => {
    clock.advance(50);
    return idle.ended();
  });
  expect([idle.ended(), busy.ended()]).toEqual([{ grpcStatus: "14" }, undefined]);
  caller.destroy();
  await waitUntil("the end", async () => {
    clock.advance(50);
    return await Promise.race([drained, Promise.resolve(false)]);
  });
});
