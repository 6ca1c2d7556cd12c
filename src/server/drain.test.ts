/** The end of a server and of an agent: what is under way arrives, and everyone else looks elsewhere. */
import type { Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { tunnelTo } from "../../test/situations/house/connect.js";
import { type House, type HousePlan, openHouse } from "../../test/situations/house/house.js";
import { payload, readExactly, readToEnd, sha256 } from "../../test/support/callers/bytes.js";
import { waitUntil } from "../../test/support/processes/deadline.js";
import { startEcho } from "../../test/support/targets/echo.js";
import { listen } from "../../test/support/targets/listener.js";
import { ProxyServer } from "./server.js";

/** More than the kernel keeps for a Unix socket, less than that and a tunnel's first window. */
const LAST_BYTES = payload("the last bytes", 320_000);

let house: House;
const endings: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
  await house.close();
});

async function open(plan: HousePlan = {}): Promise<void> {
  house = await openHouse(plan);
}

async function targetOf(serve: (socket: Socket) => void): Promise<string> {
  const target = await listen(serve);
  endings.push(() => target.close());
  return target.address;
}

async function echoes(socket: Socket, text: string): Promise<boolean> {
  socket.write(text);
  return String(await readExactly(socket, text.length)) === text;
}

test("a server that drains is not ready, lets no agent in, and its tunnels go on", async () => {
  await open();
  const echo = await startEcho();
  endings.push(() => echo.close());
  const socket = await tunnelTo(house, echo.address);
  const drained = house.server.drain(10_000);
  expect([house.server.ready, house.server.unreadyReason]).toEqual([false, "shutting down"]);
  const late = house.launchAgent({ agentId: "late" });
  expect(await echoes(socket, "still here")).toBe(true);
  await waitUntil("the first agent to look elsewhere", () => !house.agent.ready);
  expect(late.ready).toBe(false);
  expect(await echoes(socket, "and still")).toBe(true);
  socket.destroy();
  expect(await drained).toBe(true);
});

test("agents are with the successor while the tunnels of the server that drains finish", async () => {
  await open();
  const echo = await startEcho();
  endings.push(() => echo.close());
  const socket = await tunnelTo(house, echo.address);
  const drained = house.server.drain(10_000);
  const successor = new ProxyServer({ ...house.server.config, serverId: "successor", listeners: [] });
  await successor.start();
  endings.push(() => successor.destroy());
  await waitUntil("the agent to find the successor", () => successor.ready && house.agent.ready);
  expect(await echoes(socket, "through the old one")).toBe(true);
  socket.end();
  await readToEnd(socket);
  expect(await drained).toBe(true);
});

test("a server waits for the last bytes that a slow caller has not taken yet", async () => {
  await open();
  const address = await targetOf((socket) => socket.end(LAST_BYTES));
  const socket = await tunnelTo(house, address);
  socket.pause();
  socket.end();
  await waitUntil("the tunnel to be over", () => house.server.board.establishedTunnels === 0);
  const drained = house.server.drain(10_000).then((all) => {
    house.server.destroy();
    return all;
  });
  const meanwhile = new Promise((resolve) => setTimeout(resolve, 300, "waits"));
  expect(await Promise.race([drained, meanwhile])).toBe("waits");
  const { bytes } = await readToEnd(socket);
  expect([bytes.length, sha256(bytes)]).toEqual([LAST_BYTES.length, sha256(LAST_BYTES)]);
  expect(await drained).toBe(true);
});
