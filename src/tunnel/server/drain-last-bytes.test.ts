/** A drain ends when the other end of each link has read everything, not when the kernel has taken it. */
import net, { type AddressInfo, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { tunnelTo } from "../../../test/processes/fixture/connect.js";
import { type Fixture, openFixture } from "../../../test/processes/fixture/fixture.js";
import { rawCaller } from "../../../test/processes/fixture/grpc.js";
import { payload, readToEnd, sha256 } from "../../../test/support/callers/bytes.js";
import { waitUntil } from "../../../test/support/processes/deadline.js";
import { startSteered } from "../../../test/support/targets/half-open.js";
import { ProxyAgent } from "../agent/agent.js";

/** More than a reader takes into its own kernel, less than both kernels hold of one connection. */
const BYTES = payload("last bytes", 1_200_000);

const endings: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

interface Way {
  readonly port: number;
  /** The two ends of the connection that it passes on. */
  fromAgent(): Socket;
  fromServer(): Socket;
}

/** Stands between an agent and its server; a test may pause either direction. */
async function startWay(to: number): Promise<Way> {
  const ends: [Socket, Socket][] = [];
  const relay = net.createServer({ allowHalfOpen: true }, (agent) => {
    const server = net.connect({ host: "127.0.0.1", port: to, allowHalfOpen: true });
    ends.push([agent, server]);
    for (const [one, other] of [
      [agent, server],
      [server, agent],
    ] as const) {
      one.on("data", (chunk) => void other.write(chunk));
      one.on("end", () => other.end());
      one.on("error", () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  endings.push(() => {
    relay.close();
    for (const each of ends.flat()) each.destroy();
  });
  const last = (at: 0 | 1) => ends.at(-1)![at];
  return {
    port: (relay.address() as AddressInfo).port,
    fromAgent: () => last(0),
    fromServer: () => last(1),
  };
}

/** An agent as upstream's are, for which no window holds a sender back. */
async function openTunnel() {
  const fixture: Fixture = await openFixture();
  endings.push(() => fixture.close());
  await fixture.agent.stop();
  await waitUntil("the first agent to be gone", () => fixture.server.board.registry.size === 0);
  const way = await startWay(fixture.agentPort);
  const agent = new ProxyAgent(
    { ...fixture.agent.config, servers: [{ host: "127.0.0.1", port: way.port }] },
    { features: { extended: false, echo: false } },
  );
  endings.push(() => agent.stop());
  agent.start();
  await waitUntil("the agent to be connected", () => fixture.server.board.registry.size === 1);
  const target = await startSteered();
  endings.push(() => target.close());
  const caller = await tunnelTo(fixture, target.address);
  endings.push(() => caller.destroy());
  return { fixture, way, agent, caller, endpoint: await target.next() };
}

const waits = () => new Promise((resolve) => setTimeout(resolve, 300, "waits"));

test("a server that drains waits until its agent has read the last bytes of an upload", async () => {
  const { fixture, way, caller, endpoint } = await openTunnel();
  const { server } = fixture;
  way.fromServer().pause();
  caller.end(BYTES);
  const isSent = () => [...server.board.registry.links()].every(({ stream }) => stream.queuedBytes === 0);
  await waitUntil("the kernel to have all of it", () => server.board.establishedTunnels === 0 && isSent());
  const drained = server.drain(60_000);
  expect(await Promise.race([drained, waits()])).toBe("waits");
  way.fromServer().resume();
  expect(await drained).toBe(true);
  await server.stop();
  await endpoint.inputEnded;
  expect(sha256(endpoint.received())).toBe(sha256(BYTES));
});

test("an agent that drains waits until its server has read the last bytes of an answer", async () => {
  const { way, agent, caller, endpoint } = await openTunnel();
  way.fromAgent().pause();
  endpoint.socket.end(BYTES);
  const answer = readToEnd(caller);
  await waitUntil("the kernel to have all of it", () => agent.idle);
  agent.drain();
  const drained = agent.drained(60_000);
  // Longer than it takes an agent to look whether it is idle.
  expect(await Promise.race([drained, waits()])).toBe("waits");
  way.fromAgent().resume();
  expect(await drained).toBe(0);
  await agent.stop();
  const { bytes } = await answer;
  expect(sha256(bytes)).toBe(sha256(BYTES));
});

test("a drained server ends the stream of a gRPC caller that has not ended it after its tunnel", async () => {
  const fixture = await openFixture();
  endings.push(() => fixture.close());
  const target = await startSteered();
  endings.push(() => target.close());
  const caller = rawCaller(fixture);
  endings.push(() => caller.close());
  caller.send({ type: "DIAL_REQ", protocol: "tcp", address: target.address, random: 7n });
  (await target.next()).socket.end("the whole answer");
  await waitUntil("the end of the tunnel", () => caller.packets.some(({ type }) => type === "CLOSE_RSP"));
  expect(caller.ended()).toBeUndefined();
  expect(await fixture.server.drain(60_000)).toBe(true);
  expect(await waitUntil("the end of the stream", () => caller.ended())).toEqual({ grpcStatus: "0" });
  expect(String(caller.bytes())).toBe("the whole answer");
});

test("a stop waits for a second and no longer when the other end of a link does not read", async () => {
  const { fixture, way, caller } = await openTunnel();
  way.fromServer().pause();
  caller.write(BYTES);
  await waitUntil("the server to have all of it", () => fixture.server.traffic.toAgents === BYTES.length);
  const began = performance.now();
  await fixture.server.stop();
  const tookMs = performance.now() - began;
  expect([tookMs > 900, tookMs < 20_000]).toEqual([true, true]);
});
