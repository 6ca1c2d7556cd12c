import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { payload, readExactly, readToEnd, sha256 } from "../../../test/support/callers/bytes.js";
import { waitUntil } from "../../../test/support/processes/deadline.js";
import { freePort } from "../../../test/support/processes/ports.js";
import { startBlackHole } from "../../../test/support/targets/black-hole.js";
import { GO, startEndlessSource } from "../../../test/support/targets/bulk.js";
import { startEcho } from "../../../test/support/targets/echo.js";
import type { Target } from "../../../test/support/targets/listener.js";
import { acceptCall, createGrpcListener } from "../link/listener.js";
import type { Session } from "../link/open.js";
import { SegmentCounters } from "../link/packet-meter.js";
import { PacketStream } from "../link/packet-stream.js";
import { ProxyServer } from "../server/server.js";
import { GrpcTunnelPool } from "./grpc-pool.js";
import { startTunnelFixture, type TunnelFixture } from "./testing/fixture.js";

let fixture: TunnelFixture;
let echo: Target;

beforeAll(async () => {
  [fixture, echo] = await Promise.all([startTunnelFixture(), startEcho()]);
  await fixture.startAgent();
});

afterAll(async () => {
  await Promise.all([fixture.close(), echo.close()]);
});

const poolAt = (name: "grpc-uds" | "grpc-tcp", from = fixture) =>
  new GrpcTunnelPool({ ...from.frontends[name], mode: "grpc" });
const proxyStreams = () => fixture.server.readings().grpcConnections().Proxy;

describe.each(["grpc-uds", "grpc-tcp"] as const)("a pool at %s", (name) => {
  test("carries many tunnels at once, each its own bytes", async () => {
    const pool = poolAt(name);
    const sockets = await Promise.all(Array.from({ length: 30 }, () => pool.dial(echo.address)));
    const echoes = sockets.map(async (socket, index) => {
      const bytes = payload(`tunnel ${index}`, 50_000);
      socket.write(bytes);
      return sha256(await readExactly(socket, bytes.length)) === sha256(bytes);
    });
    expect(await Promise.all(echoes)).toEqual(sockets.map(() => true));
    for (const socket of sockets) socket.destroy();
    await waitUntil("the streams to end", () => proxyStreams() === 0);
    await pool.close();
  });

  test("goes on beside a refusal, an abort and a reader that stalls", async () => {
    const pool = poolAt(name);
    const [hole, source] = await Promise.all([startBlackHole(), startEndlessSource()]);
    const stalled = await pool.dial(source.address);
    stalled.write(GO);
    await once(stalled, "readable");
    await expect(pool.dial(`127.0.0.1:${await freePort()}`)).rejects.toThrow("connection refused");
    await expect(pool.dial(hole.address, { timeoutMs: 100 })).rejects.toMatchObject({ code: "DB_DIAL_TIMEOUT" });
    const socket = await pool.dial(echo.address);
    const bytes = payload("beside", 2_000_000);
    socket.write(bytes);
    expect(sha256(await readExactly(socket, bytes.length))).toBe(sha256(bytes));
    await pool.close();
    await Promise.all([hole.close(), source.close()]);
  });

  test("ends its tunnels when it is closed, and opens a new connection for the next dial", async () => {
    const pool = poolAt(name);
    const ending = readToEnd(await pool.dial(echo.address));
    await pool.close();
    expect((await ending).error).toBeDefined();
    const socket = await pool.dial(echo.address);
    socket.write("again");
    expect((await readExactly(socket, 5)).toString()).toBe("again");
    await pool.close();
  });

  test("comes back with a server that was started again", async () => {
    const passing = await startTunnelFixture();
    await passing.startAgent();
    const pool = poolAt(name, passing);
    const ending = readToEnd(await pool.dial(echo.address));
    passing.server.destroy();
    expect((await ending).error).toBeDefined();
    const successor = new ProxyServer(passing.server.config);
    await successor.start();
    await waitUntil("the agent to be back", () => successor.ready);
    const socket = await pool.dial(echo.address);
    socket.write("again");
    expect((await readExactly(socket, 5)).toString()).toBe("again");
    await pool.close();
    await passing.close();
    successor.destroy();
  });

  test("leaves a server that drains, without cutting open tunnels", async () => {
    const passing = await startTunnelFixture();
    await passing.startAgent();
    const pool = poolAt(name, passing);
    const socket = await pool.dial(echo.address);
    const drained = passing.server.drain(60_000);
    socket.write("going on");
    expect((await readExactly(socket, 8)).toString()).toBe("going on");
    await waitUntil("the pool to see that the server leaves", async () => {
      return pool.dial(echo.address, { timeoutMs: 500 }).then(
        (late) => void late.destroy(),
        () => true,
      );
    });
    socket.destroy();
    expect(await drained).toBe(true);
    await pool.close();
    await passing.close();
  });
});

describe("a pool", () => {
  test("tries again after a connection that failed", async () => {
    const pool = new GrpcTunnelPool({ mode: "grpc", uds: "/nonexistent/drawbridge.sock" });
    for (let turn = 0; turn < 2; turn++) await expect(pool.dial("a:1")).rejects.toThrow("cannot be reached");
    await pool.close();
  });

  test("opens another connection when the server takes no more streams on the first, and gives it up again", async () => {
    const { frontend, streams, close } = await smallListener(120);
    const pool = new GrpcTunnelPool(frontend);
    const sockets = await Promise.all(Array.from({ length: 300 }, () => pool.dial("a:1")));
    expect(streams()).toHaveLength(3);
    expect(Math.max(...streams())).toBeLessThanOrEqual(120);
    // There is room again on the first: the next dial opens no fourth.
    for (const socket of sockets.slice(0, 50)) socket.destroy();
    await waitUntil("fifty streams to end", () => streams().reduce((sum, count) => sum + count) === 250);
    const another = await pool.dial("a:1");
    expect(streams()).toHaveLength(3);
    for (const socket of [...sockets, another]) socket.destroy();
    await waitUntil("all connections but one to be given up", () => streams().length === 1);
    await pool.close();
    close();
  });

  test("says so when the server takes no streams at all", async () => {
    const { frontend, close } = await smallListener(0);
    const pool = new GrpcTunnelPool(frontend);
    for (let dial = 0; dial < 3; dial++) {
      await expect(pool.dial("a:1", { timeoutMs: 20_000 })).rejects.toThrow(/takes no streams|HTTP\/2 code 7/);
    }
    await pool.close();
    close();
  });
});

/** A gRPC frontend that takes so many streams on a connection and says yes to every dial; how many each has now. */
async function smallListener(maxStreams: number) {
  const connections = new Map<Session, number>();
  const listener = createGrpcListener({
    ...{ method: "/ProxyService/Proxy", streamWindowBytes: 65_535, maxStreams, keepaliveMs: 60_000 },
    ...{ misdirectedMethods: {}, onRefused() {} },
    onCall({ stream }) {
      const { session } = stream;
      if (!connections.has(session)) session.once("close", () => connections.delete(session));
      const count = (change: number): unknown => connections.set(session, (connections.get(session) ?? 0) + change);
      count(+1);
      stream.once("close", () => session.destroyed || count(-1));
      acceptCall(stream);
      const counters = new SegmentCounters();
      const packets: PacketStream = new PacketStream(
        stream,
        {
          ...{ onData() {}, onSettle() {}, onDrain() {}, onEmpty() {}, onClosed() {} },
          onControl(packet) {
            if (packet.type === "DIAL_REQ") {
              packets.control({ type: "DIAL_RSP", error: "", connectId: 1, random: packet.random });
            } else if (packet.type === "CLOSE_REQ") packets.control({ type: "CLOSE_RSP", connectId: 1, error: "" });
          },
          onRemoteEnd: () => packets.end(),
        },
        { received: counters, sent: counters },
      );
    },
  });
  const dir = mkdtempSync(join(tmpdir(), "drawbridge-pool-"));
  const uds = join(dir, "frontend.sock");
  listener.server.listen(uds);
  await once(listener.server, "listening");
  const close = (): void => {
    listener.destroy();
    rmSync(dir, { recursive: true });
  };
  return { frontend: { mode: "grpc", uds } as const, streams: () => [...connections.values()], close };
}
