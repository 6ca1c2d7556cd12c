import type { Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { ObservedAgent } from "../../src/insight/observe/roles/agent.js";
import { ObservedServer } from "../../src/insight/observe/roles/server.js";
import { encodePacket } from "../../src/tunnel/wire/encode.js";
import type { ConnectId } from "../../src/tunnel/wire/packet.js";
import { PacketReader } from "../../src/tunnel/wire/packet-reader.js";
import { payload, readExactly, readToEnd } from "../support/callers/bytes.js";
import { waitUntil } from "../support/processes/deadline.js";
import { startEcho } from "../support/targets/echo.js";
import { listen, type Target } from "../support/targets/listener.js";
import { startSlowReader } from "../support/targets/stalled.js";
import { tunnelTo } from "./fixture/connect.js";
import { type Fixture, openFixture } from "./fixture/fixture.js";
import { rawAgent, rawCaller } from "./fixture/grpc.js";

const KIB = 1024;
const MIB = 1024 * KIB;
/** First window and the overshoot of one read: what a tunnel whose reader never reads may hold. */
const UNREAD_BOUND = 128 * KIB;

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

function keep<T extends { close(): unknown }>(thing: T): T {
  opened.push(thing);
  return thing;
}

function keepSocket(socket: Socket): Socket {
  opened.push({ close: () => socket.destroy() });
  return socket;
}

/** Sends as fast as it can, for ever. */
async function startFlood(): Promise<Target> {
  const block = Buffer.alloc(64 * KIB, 0xab);
  return listen((socket) => {
    const pump = (): void => {
      while (!socket.destroyed && socket.write(block)) {}
    };
    socket.on("drain", pump);
    pump();
  });
}

const atServer = (fixture: Fixture) => [...new ObservedServer(fixture.server).tunnels()];
const atAgent = (fixture: Fixture) => [...new ObservedAgent(fixture.agent).tunnels()];

const queued = (fixture: Fixture) =>
  [...atServer(fixture), ...atAgent(fixture)].reduce((sum, { queuedBytes }) => sum + queuedBytes, 0);

async function pingPong(socket: Socket, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const ping = payload(`ping ${round}`, 1 * KIB);
    socket.write(ping);
    expect((await readExactly(socket, ping.length)).equals(ping)).toBe(true);
  }
}

/** Resolves once the figure has not moved for a few looks. */
async function settled(what: string, figure: () => number): Promise<void> {
  let last = -1;
  let still = 0;
  await waitUntil(`${what} to stand still`, () => {
    const now = figure();
    still = now === last ? still + 1 : 0;
    last = now;
    return still >= 10 && now > 0;
  });
}

const bytesFromAgent = (fixture: Fixture) =>
  atAgent(fixture).reduce((sum, { bytesFromTarget }) => sum + bytesFromTarget, 0);

describe("both ends ours", () => {
  test("a caller that stops reading disturbs nobody and holds little", async () => {
    const fixture = keep(await openFixture());
    const [echo, flood] = [keep(await startEcho()), keep(await startFlood())];
    const stalled = keepSocket(await tunnelTo(fixture, flood.address));
    stalled.pause();
    await settled("the stalled tunnel", () => bytesFromAgent(fixture));
    const other = keepSocket(await tunnelTo(fixture, echo.address));
    await pingPong(other, 200);
    // The endpoint has megabytes more to send; none of them are here.
    expect(queued(fixture)).toBeLessThan(3 * MIB);
  });

  test("a stalled tunnel goes on where it stopped once the caller reads again", async () => {
    const fixture = keep(await openFixture());
    const body = payload("whole", 8 * MIB);
    const source = keep(await listen((socket) => socket.end(body)));
    const caller = keepSocket(await tunnelTo(fixture, source.address));
    caller.pause();
    await settled("the stalled tunnel", () => bytesFromAgent(fixture));
    expect((await readExactly(caller, body.length)).equals(body)).toBe(true);
  });

  test("an endpoint that stops reading disturbs nobody either", async () => {
    const fixture = keep(await openFixture());
    const [echo, slow] = [keep(await startEcho()), keep(await startSlowReader())];
    const stalled = keepSocket(await tunnelTo(fixture, slow.address));
    const block = Buffer.alloc(64 * KIB);
    const pump = (): void => {
      while (!stalled.destroyed && stalled.write(block)) {}
    };
    stalled.on("drain", pump);
    pump();
    const sent = () => atServer(fixture).reduce((sum, { bytesToTarget }) => sum + bytesToTarget, 0);
    await settled("the stalled tunnel", sent);
    const other = keepSocket(await tunnelTo(fixture, echo.address));
    await pingPong(other, 200);
    expect(queued(fixture)).toBeLessThan(3 * MIB);
    const before = slow.bytesRead;
    slow.release();
    await waitUntil("the endpoint to read on", () => slow.bytesRead > before + 8 * MIB);
  });

  test("500 callers that never read are bounded together", async () => {
    const fixture = keep(await openFixture());
    const body = Buffer.alloc(512 * KIB);
    const [echo, source] = [keep(await startEcho()), keep(await listen((socket) => socket.write(body)))];
    const stalled = await Promise.all(Array.from({ length: 500 }, () => tunnelTo(fixture, source.address)));
    for (const socket of stalled) keepSocket(socket).pause();
    await settled("the stalled tunnels", () => bytesFromAgent(fixture));
    expect(fixture.server.board.establishedTunnels).toBe(500);
    const budget = fixture.server.config.limits.creditBudgetBytes;
    expect(queued(fixture)).toBeLessThan(budget + 500 * UNREAD_BOUND);
    expect(fixture.server.board.budget.creditTaken).toBeLessThanOrEqual(budget);
    await pingPong(keepSocket(await tunnelTo(fixture, echo.address)), 50);
  }, 60_000);

  test("a gRPC caller whose endpoint does not read leaves no megabytes in the server", async () => {
    const fixture = keep(await openFixture());
    const slow = keep(await startSlowReader());
    const caller = keep(rawCaller(fixture));
    caller.send({ type: "DIAL_REQ", protocol: "tcp", address: slow.address, random: 1n });
    const answer = await waitUntil("the dial", () => caller.packets.find(({ type }) => type === "DIAL_RSP"));
    const connectId = answer.type === "DIAL_RSP" ? answer.connectId : 0;
    const data = Buffer.alloc(32 * KIB);
    for (let sent = 0; sent < 32 * MIB; sent += data.length) caller.send({ type: "DATA", connectId, data });
    const passedOn = () => atServer(fixture)[0]?.bytesToTarget ?? 0;
    await settled("what the server passes on", passedOn);
    await settled("what the caller got rid of", () => caller.socket.bytesWritten);
    // Everything between the caller's socket and the agent's link is in the server's memory or in one kernel buffer.
    expect(caller.socket.bytesWritten - passedOn()).toBeLessThan(1 * MIB);
  });
});

describe("an agent that knows no windows", () => {
  test("a caller that stops reading is cut within seconds, the others stay", async () => {
    const fixture = keep(
      await openFixture({
        agents: 0,
        server: { limits: { tunnelQueueBytes: MIB, processQueueBytes: 64 * MIB, creditBudgetBytes: 0 } },
      }),
    );
    const agent = keep(await foreignAgent(fixture));
    const stalled = keepSocket(await tunnelTo(fixture, "flood:1"));
    const other = keepSocket(await tunnelTo(fixture, "echo:1"));
    stalled.pause();
    agent.flood("flood:1");
    await waitUntil("the slow tunnel to be cut", () => fixture.server.board.establishedTunnels === 1);
    await waitUntil("the agent to hear of it", () => agent.closedAddresses.length > 0);
    expect(agent.closedAddresses).toEqual(["flood:1"]);
    await pingPong(other, 100);
    await readToEnd(stalled);
  });
});

/** An agent as upstream's: accepts every dial, echoes what comes for `echo:1`, and floods where it is told to. */
async function foreignAgent(fixture: Fixture) {
  const peer = rawAgent(fixture, { agentid: "foreign" });
  await peer.headers;
  const addresses = new Map<ConnectId, string>();
  const closedAddresses: string[] = [];
  let ids = 0;
  const reader = new PacketReader({
    onControl(packet) {
      if (packet.type === "DIAL_REQ") {
        addresses.set(++ids, packet.address);
        peer.send({ type: "DIAL_RSP", error: "", connectId: ids, random: packet.random });
      } else if (packet.type === "CLOSE_REQ") {
        closedAddresses.push(addresses.get(packet.connectId) ?? "?");
        addresses.delete(packet.connectId);
        peer.send({ type: "CLOSE_RSP", connectId: packet.connectId, error: "" });
      }
    },
    onData: (connectId, chunk) => peer.send({ type: "DATA", connectId, data: Buffer.from(chunk) }),
  });
  peer.stream.on("data", (chunk: Buffer) => reader.push(chunk));
  return {
    closedAddresses,
    flood(address: string) {
      const connectId = [...addresses].find(([, each]) => each === address)![0];
      const block = encodePacket({ type: "DATA", connectId, data: Buffer.alloc(32 * KIB) });
      const pump = (): void => {
        while (addresses.has(connectId) && !peer.stream.destroyed && peer.stream.write(block)) {}
      };
      peer.stream.on("drain", pump);
      pump();
    },
    close: () => peer.close(),
  };
}
