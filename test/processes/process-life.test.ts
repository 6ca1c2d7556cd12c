/** Real processes: how they end, what their socket file looks like, and what they weigh when nobody reads. */
import { readFileSync, statSync } from "node:fs";
import type { Socket } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { payload, readExactly } from "../support/callers/bytes.js";
import { waitUntil } from "../support/processes/deadline.js";
import { get } from "../support/processes/http.js";
import { startTunnel, type Tunnel } from "../support/processes/tunnel.js";
import { GO, startSource } from "../support/targets/bulk.js";
import { startEcho } from "../support/targets/echo.js";

// Each test starts processes of its own, and waits for some to end.
vi.setConfig({ testTimeout: 60_000 });

let tunnel: Tunnel | undefined;
const endings: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
  await tunnel?.close();
});

async function start(serverFlags: string[] = [], agentFlags: string[] = []): Promise<Tunnel> {
  tunnel = await startTunnel({ server: "ours", agent: "ours", frontend: "connect-uds", serverFlags, agentFlags });
  return tunnel;
}

async function echoTarget(): Promise<string> {
  const echo = await startEcho();
  endings.push(() => echo.close());
  return echo.address;
}

async function says(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  return String(await readExactly(socket, text.length));
}

test("a server that is told to stop lets its tunnels finish and turns new callers away", async () => {
  const { open, server, dial, place } = await start(["--graceful-shutdown-timeout=60s"]);
  const address = await echoTarget();
  const socket = await open(address);
  const firstAgent = () => get(place.healthPort, "/readyz/first-agent");
  expect(await firstAgent()).toMatchObject({ status: 200, body: "ok" });
  server.process.signal("SIGTERM");
  await waitUntil("new callers to be turned away", async () => {
    try {
      const dialled = await dial(address);
      if (dialled.ok) dialled.socket.destroy();
      return !dialled.ok;
    } catch {
      return true;
    }
  });
  expect(await firstAgent()).toMatchObject({ status: 500, body: "shutting down" });
  expect(await says(socket, "still here")).toBe("still here");
  socket.destroy();
  expect(await server.process.exited).toMatchObject({ code: 0 });
  expect(server.process.log.text).toMatch(/ proxy-server has ended\n$/);
});

test("an agent that is told to stop serves on until it is idle", async () => {
  const { open, agents, server } = await start([], ["--drain-timeout=60s"]);
  const socket = await open(await echoTarget());
  agents[0]!.process.signal("SIGTERM");
  await waitUntil("the drain to be announced", () => agents[0]!.process.log.text.includes("draining"));
  expect(await says(socket, "still here")).toBe("still here");
  socket.destroy();
  expect(await agents[0]!.process.exited).toMatchObject({ code: 0 });
  expect(agents[0]!.process.log.text).toMatch(/ proxy-agent has ended\n$/);
  await waitUntil("the server to know why", () => server.process.log.text.includes('reason="it was stopped"'));
});

test.each(["server", "agent"] as const)(
  "a %s that waits for tunnels says for how many, until when and how not to",
  async (role) => {
    const { open, server, agents } = await start(["--graceful-shutdown-timeout=60s"], ["--drain-timeout=60s"]);
    const socket = await open(await echoTarget());
    const { process, waits } = {
      server: { process: server.process, waits: "shutting down: waiting for what is open" },
      agent: { process: agents[0]!.process, waits: "draining: other agents are preferred from now on: waiting" },
    }[role];
    process.signal("SIGINT");
    await waitUntil("the wait to be announced", () => process.log.text.includes(waits));
    const line = process.log.text.split("\n").find((each) => each.includes(waits));
    expect(line).toMatch(/a second signal ends the process at once signal="SIGINT" tunnels=1 until="20[\d:TZ.-]+"$/);
    process.signal("SIGINT");
    expect(await process.exited).toMatchObject({ code: 1 });
    expect(process.log.text).toContain('ended at once by a second signal signal="SIGINT"');
    socket.destroy();
  },
);

test("SIGUSR1 opens no debugger in a server or an agent, and they go on serving", async () => {
  const { open, server, agents } = await start();
  const socket = await open(await echoTarget());
  const processes = [server.process, agents[0]!.process];
  for (const process of processes) process.signal("SIGUSR1");
  for (let ping = 0; ping < 50; ping++) expect(await says(socket, `ping ${ping}`)).toBe(`ping ${ping}`);
  for (const { log } of processes) expect(log.text).not.toContain("Debugger");
  socket.destroy();
});

test.skipIf(process.getuid?.() !== 0)("the socket file gets the mode and the owner it was promised", async () => {
  const { place } = await start(["--uds-mode=0660", "--uds-owner=65534:65533"]);
  const { mode, uid, gid } = statSync(place.udsPath);
  expect([(mode & 0o777).toString(8), uid, gid]).toEqual(["660", 65_534, 65_533]);
});

/** docs/architecture.md promises this; each of them may hold its window and one read. */
const READERS = 2_000;
const STATED_MIB = 450;

test("2,000 readers that have stopped weigh what the documentation says, and hurt nobody", {
  timeout: 240_000,
}, async () => {
  const { open, server, agents } = await start();
  const source = await startSource(payload("more than it takes", 1024 * 1024));
  endings.push(() => source.close());
  const sockets: Socket[] = [];
  endings.push(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (let from = 0; from < READERS; from += 50) {
    const more = await Promise.all(Array.from({ length: 50 }, () => open(source.address)));
    for (const socket of more) {
      socket.pause();
      socket.write(GO);
    }
    sockets.push(...more);
  }
  const beside = await open(await echoTarget());
  sockets.push(beside);
  for (let ping = 0; ping < 20; ping++) expect(await says(beside, `ping ${ping}`)).toBe(`ping ${ping}`);
  for (const { pid } of [server.process, agents[0]!.process]) expect(residentMiB(pid)).toBeLessThan(STATED_MIB);
});

function residentMiB(pid: number): number {
  const kib = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) / 1024;
}
