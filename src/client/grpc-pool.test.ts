import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { payload, readExactly, readToEnd, sha256 } from "../../test/support/callers/bytes.js";
import { waitUntil } from "../../test/support/processes/deadline.js";
import { freePort } from "../../test/support/processes/ports.js";
import { startBlackHole } from "../../test/support/targets/black-hole.js";
import { GO, startEndlessSource } from "../../test/support/targets/bulk.js";
import { startEcho } from "../../test/support/targets/echo.js";
import type { Target } from "../../test/support/targets/listener.js";
import { ProxyServer } from "../server/server.js";
import { GrpcTunnelPool } from "./grpc-pool.js";
import { type Rig, startRig } from "./testing/rig.js";

let rig: Rig;
let echo: Target;

beforeAll(async () => {
  [rig, echo] = await Promise.all([startRig(), startEcho()]);
  await rig.startAgent();
});

afterAll(async () => {
  await Promise.all([rig.close(), echo.close()]);
});

const poolAt = (name: "grpc-uds" | "grpc-tcp", from = rig) => new GrpcTunnelPool({ ...from.doors[name], mode: "grpc" });
const proxyStreams = () => rig.server.readings().grpcConnections().Proxy;

describe.each(["grpc-uds", "grpc-tcp"] as const)("a pool at %s", (name) => {
  it("carries many tunnels at once, each its own bytes", async () => {
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

  it("goes on beside a refusal, an abort and a reader that stalls", async () => {
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

  it("ends its tunnels when it is closed, and opens a new connection for the next dial", async () => {
    const pool = poolAt(name);
    const ending = readToEnd(await pool.dial(echo.address));
    await pool.close();
    expect((await ending).error).toBeDefined();
    const socket = await pool.dial(echo.address);
    socket.write("again");
    expect((await readExactly(socket, 5)).toString()).toBe("again");
    await pool.close();
  });

  it("comes back with a server that was started anew", async () => {
    const passing = await startRig();
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

  it("leaves a server that drains, without cutting what stands", async () => {
    const passing = await startRig();
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
  it("tries again after a connection that failed", async () => {
    const pool = new GrpcTunnelPool({ mode: "grpc", uds: "/nonexistent/drawbridge.sock" });
    for (let turn = 0; turn < 2; turn++) await expect(pool.dial("a:1")).rejects.toThrow("cannot be reached");
    await pool.close();
  });
});
