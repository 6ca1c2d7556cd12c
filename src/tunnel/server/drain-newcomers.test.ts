/** Callers that were connected when a server began to drain and had not asked yet: served to their end, or refused. */
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { connectCaller, connectCallerTls, readHead } from "../../../test/processes/fixture/connect.js";
import { type Fixture, type FixturePlan, openFixture } from "../../../test/processes/fixture/fixture.js";
import { rawAgent, rawCaller } from "../../../test/processes/fixture/grpc.js";
import { readExactly, readToEnd } from "../../../test/support/callers/bytes.js";
import { waitUntil, within } from "../../../test/support/processes/deadline.js";
import { startEcho } from "../../../test/support/targets/echo.js";
import { Connections } from "../../base/connections.js";
import { ManualClock } from "../../base/testing/manual-clock.js";

let fixture: Fixture;
let target: string;
const endings: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function open(plan: FixturePlan = {}): Promise<void> {
  fixture = await openFixture({ ...plan, parts: { connections: new Connections(), ...plan.parts } });
  endings.push(() => fixture.close());
  const echo = await startEcho();
  endings.push(() => echo.close());
  target = echo.address;
}

/** Sockets that this server's listeners hold. */
const accepted = (count: number) =>
  waitUntil("the server to have accepted it", () => fixture.server.connections.held >= count);

/** As a process does it, with a lease whose deletion takes its time. */
async function end(limitMs = 60_000): Promise<boolean> {
  const finished = await fixture.server.drain(limitMs);
  await new Promise((resolve) => setTimeout(resolve, 20));
  fixture.server.destroy();
  return finished;
}

async function ask(socket: Socket): Promise<string> {
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  return (await readHead(socket)).split("\r\n")[0]!;
}

async function expectServed(socket: Socket): Promise<void> {
  expect(await ask(socket)).toBe("HTTP/1.1 200 Connection Established");
  socket.write("question");
  expect(String(await readExactly(socket, 8))).toBe("question");
  socket.end();
  await readToEnd(socket);
}

/** Each opens a connection, and asks later. */
const CONNECT_CALLERS: Record<string, () => Promise<() => Promise<Socket>>> = {
  "a Unix socket": async () => {
    const socket = await connectCaller(fixture);
    return async () => socket;
  },
  "TLS, after its handshake": async () => {
    const socket = await connectCallerTls(fixture);
    return async () => socket;
  },
  "TLS, before its handshake": async () => {
    const below = connect({ host: "127.0.0.1", port: fixture.connectPort, allowHalfOpen: true });
    await new Promise((resolve) => below.once("connect", resolve));
    return async () => {
      const socket = connectTls({ socket: below, host: "127.0.0.1", ...fixture.pki.clientTls });
      await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
      return socket;
    };
  },
};

test.each(Object.entries(CONNECT_CALLERS))(
  "a caller over %s that asks during the drain is served to its end",
  async (_name, opened) => {
    await open();
    const { held } = fixture.server.connections;
    const reach = await opened();
    await accepted(held + 1);
    const ended = end();
    await expectServed(await reach());
    expect(await ended).toBe(true);
  },
);

test("so is one that the kernel had accepted, and this process had not", async () => {
  await open();
  const socket = connect({ path: fixture.connectPath, allowHalfOpen: true });
  socket.on("error", () => {});
  const ended = end();
  await expectServed(socket);
  expect(await ended).toBe(true);
});

test.each([
  ["whose first call comes later", false],
  ["whose call has not dialled yet", true],
])("a gRPC caller %s is served to its end", async (_name, calls) => {
  await open();
  const { held } = fixture.server.connections;
  if (calls) {
    const caller = rawCaller(fixture);
    endings.push(() => caller.close());
    await caller.headers;
    const ended = end();
    await expectGrpcServed(caller);
    expect(await ended).toBe(true);
    return;
  }
  const socket = connect(fixture.grpcPath);
  await accepted(held + 1);
  const ended = end();
  const caller = rawCaller(fixture, socket);
  endings.push(() => caller.close());
  await expectGrpcServed(caller);
  expect(await ended).toBe(true);
});

async function expectGrpcServed(caller: ReturnType<typeof rawCaller>): Promise<void> {
  caller.send({ type: "DIAL_REQ", protocol: "tcp", address: target, random: 7n });
  const answer = await waitUntil("an answer", () => caller.packets.find(({ type }) => type === "DIAL_RSP"));
  expect(answer).toMatchObject({ error: "" });
  const { connectId } = answer as { connectId: number };
  caller.send({ type: "DATA", connectId, data: Buffer.from("question") });
  await waitUntil("the echo", () => String(caller.bytes()) === "question");
  caller.send({ type: "CLOSE_REQ", connectId });
}

test("nothing is granted once the drain is over, and the refusal asks to dial again", async () => {
  const clock = new ManualClock();
  await open({ parts: { runtime: clock, connections: new Connections({ clock }) } });
  const { held } = fixture.server.connections;
  const socket = await connectCaller(fixture);
  await accepted(held + 1);
  // It had its time before the drain began.
  clock.advance(5_000);
  expect(await within(5_000, "the drain", fixture.server.drain(60_000))).toBe(true);
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  const { bytes } = await readToEnd(socket);
  expect(String(bytes)).toMatch(
    /^HTTP\/1\.1 500 .*currently no tunnels available: No agent available \(this server is shutting down/s,
  );
});

test("a gRPC call that comes too late is one that nobody has seen: its client makes it again elsewhere", async () => {
  const clock = new ManualClock();
  await open({ parts: { runtime: clock, connections: new Connections({ clock }) } });
  const { held } = fixture.server.connections;
  const socket = connect(fixture.grpcPath);
  await accepted(held + 1);
  clock.advance(5_000);
  expect(await within(5_000, "the drain", fixture.server.drain(60_000))).toBe(true);
  const caller = rawCaller(fixture, socket);
  endings.push(() => caller.close());
  const REFUSED_STREAM = 7;
  expect(await waitUntil("its end", () => caller.ended())).toEqual({ rstCode: REFUSED_STREAM });
});

test("a caller that connects and says nothing holds the drain for a second and no longer", async () => {
  const clock = new ManualClock();
  await open({ parts: { runtime: clock, connections: new Connections({ clock }) } });
  const { held } = fixture.server.connections;
  const [quiet, handshaking] = [await connectCaller(fixture), connect(fixture.connectPort, "127.0.0.1")];
  endings.push(() => void [quiet, handshaking].map((socket) => socket.destroy()));
  await accepted(held + 2);
  let finished: boolean | undefined;
  void fixture.server.drain(60_000).then((all) => {
    finished = all;
  });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  let waitedMs = 0;
  for (; finished === undefined && waitedMs < 5_000; waitedMs += 50) {
    for (let turns = 0; turns < 5; turns++) await turn();
    clock.advance(50);
  }
  expect(finished).toBe(true);
  expect(waitedMs).toBeGreaterThan(900);
  expect(waitedMs).toBeLessThan(1_300);
});

test("an agent whose handshake was under way is sent elsewhere", async () => {
  await open();
  const echo = await connectCaller(fixture);
  await ask(echo);
  const { held } = fixture.server.connections;
  const below = connect({ host: "127.0.0.1", port: fixture.agentPort });
  await accepted(held + 1);
  const drained = fixture.server.drain(60_000);
  const agent = rawAgent(fixture, { agentid: "late" }, fixture.pki.clientTls, below);
  endings.push(() => agent.close());
  const UNAVAILABLE = "14";
  expect((await agent.headers)["grpc-status"]).toBe(UNAVAILABLE);
  echo.destroy();
  expect(await drained).toBe(true);
});
