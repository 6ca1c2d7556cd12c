import { createServer, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { Scope } from "../../test/support/processes/scope.js";
import { layGround } from "../contenders/ground.js";
import { drive } from "../load/drive.js";
import { loadgenPath } from "../load/loadgen.js";
import { untilServed } from "./probe.js";
import { haproxy } from "./tunnels/haproxy.js";

let scope = new Scope();
afterEach(async () => {
  await scope.close();
  scope = new Scope();
});

async function listen(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  scope.defer(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("there is no port");
  return `127.0.0.1:${address.port}`;
}

test("a tunnel serves once a byte has come back, whatever became of earlier attempts", async () => {
  let attempts = 0;
  const address = await listen((socket) => {
    attempts++;
    if (attempts === 1) socket.destroy();
    if (attempts > 2) socket.once("data", () => socket.write("x"));
  });
  await untilServed({ frontend: "direct", address, target: address }, 20_000);
  expect(attempts).toBeGreaterThanOrEqual(3);
});

test("a CONNECT that is refused is asked again, and an accepted one has to carry a byte", async () => {
  const heads: string[] = [];
  const address = await listen((socket) => {
    socket.once("data", (head) => {
      const isFirst = heads.push(head.toString()) === 1;
      socket.write(isFirst ? "HTTP/1.1 503 No\r\n\r\n" : "HTTP/1.1 200 OK\r\n\r\n");
      socket.once("data", (bytes) => socket.write(bytes.subarray(1)));
    });
  });
  await untilServed({ frontend: "connect-uds", address, target: "10.0.0.1:443" }, 20_000);
  expect(heads.length).toBeGreaterThanOrEqual(2);
  expect(heads[0]).toMatch(/^CONNECT 10\.0\.0\.1:443 HTTP\/1\.1\r\n/);
});

test("a tunnel that never serves is an error", async () => {
  const address = await listen((socket) => void socket.once("data", () => socket.write("y")));
  await expect(untilServed({ frontend: "direct", address, target: address }, 300)).rejects.toThrow(/within 0\.3 s/);
});

const missing = loadgenPath() === undefined || haproxy.problem() !== undefined;

test.skipIf(missing)(
  "a real tunnel carries bytes, and again after its far end was killed",
  { timeout: 120_000 },
  async () => {
    const ground = scope.use(await layGround());
    const ends = await haproxy.start(scope, ground);
    const bytes = 4 * 2 ** 20;
    expect(await drive(ends.route, "bulk-down", { tunnels: 2, bytes })).toMatchObject({
      intact: true,
      bytesTotal: 2 * bytes,
    });
    const before = ends.pids;
    expect(before).toHaveLength(2);
    await ends.killFar();
    expect(ends.pids).toEqual([before[0]]);
    ends.startFar();
    await ends.untilServed();
    expect(await drive(ends.route, "bulk-up", { bytes })).toMatchObject({ intact: true });
  },
);
