/** The log of a real server whose standard error is closed, full or not read: it goes on, stays small and ends well. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { startAgent } from "../support/processes/agent.js";
import { makePki } from "../support/processes/certs.js";
import { waitUntil } from "../support/processes/deadline.js";
import { ours } from "../support/processes/executables.js";
import { get } from "../support/processes/http.js";
import { Scope } from "../support/processes/scope.js";
import { choosePlace, serverFlags } from "../support/processes/server.js";
import { startEcho } from "../support/targets/echo.js";

vi.setConfig({ testTimeout: 90_000 });

const scope = new Scope();
afterEach(() => scope.close());

async function startServer(stderr: "pipe" | number, flags: readonly string[] = []) {
  const dir = scope.tempDir();
  const place = await choosePlace("connect-uds", dir);
  const pki = makePki(dir);
  const args = [...serverFlags(place, pki), ...flags];
  const child = spawn(ours("proxy-server"), args, { stdio: ["ignore", "ignore", stderr] });
  scope.defer(() => void child.kill("SIGKILL"));
  const isHealthy = async () => (await get(place.healthPort, "/healthz")).status === 200;
  return {
    child,
    place,
    pki,
    isHealthy,
    untilHealthy: () => waitUntil("the server to be healthy", isHealthy),
    residentBytes: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) * 1024,
  };
}

/** Asks for a connection and ends it. A server without agents refuses it, and logs that at a pace of its own. */
async function ask(path: string, target: string): Promise<void> {
  const socket = connect(path);
  socket.on("error", () => undefined);
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  // A caller that ends before the answer has given up.
  socket.once("data", () => socket.end());
  await once(socket, "close");
}

async function askOften(path: string, times: number, target = "192.0.2.1:443"): Promise<void> {
  for (let asked = 0; asked < times; asked += 50) {
    await Promise.all(Array.from({ length: 50 }, () => ask(path, target)));
  }
}

test("a server whose log reader ends after one line serves on, and ends well", async () => {
  const { child, place, isHealthy, untilHealthy } = await startServer("pipe", ["-v=9"]);
  await once(child.stderr!, "data");
  child.stderr!.destroy();
  await untilHealthy();
  await askOften(place.udsPath, 200);
  expect(await isHealthy()).toBe(true);
  child.kill("SIGTERM");
  expect((await once(child, "exit"))[0]).toBe(0);
});

test("a server whose log goes to a full disk serves on, and ends well", async () => {
  const full = openSync("/dev/full", "w");
  const { child, place, isHealthy, untilHealthy } = await startServer(full, ["-v=9"]);
  closeSync(full);
  await untilHealthy();
  await askOften(place.udsPath, 200);
  expect(await isHealthy()).toBe(true);
  child.kill("SIGTERM");
  expect((await once(child, "exit"))[0]).toBe(0);
});

test("a server whose log nobody reads for a while stays small, serves on, and ends well", async () => {
  const { child, place, isHealthy, untilHealthy, residentBytes } = await startServer("pipe", ["-v=9"]);
  child.stderr!.pause();
  await untilHealthy();
  await askOften(place.udsPath, 200);
  const before = residentBytes();
  await askOften(place.udsPath, 8_000);
  expect(residentBytes() - before).toBeLessThan(64 << 20);
  expect(await isHealthy()).toBe(true);
  child.kill("SIGTERM");
  expect((await once(child, "exit"))[0]).toBe(0);
});

test("a server whose log nobody read for a while says how many lines are missing, and the count is right", async () => {
  const { child, place, pki, untilHealthy } = await startServer("pipe", ["-v=9"]);
  child.stderr!.pause();
  await untilHealthy();
  const agent = await startAgent({ origin: "ours", serverPort: place.agentPort, pki });
  scope.use(agent.process);
  await agent.untilReady();
  const echo = await startEcho();
  scope.defer(() => echo.close());
  // Each makes two lines that no pace holds back: established, closed. Together they are far more than what may wait.
  const tunnels = 5_000;
  await askOften(place.udsPath, tunnels, echo.address);
  let log = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  // A listener alone does not undo pause().
  child.stderr!.resume();
  const dropped = () => [
    ...log.matchAll(/^W.*] log lines were dropped because they were not read fast enough count=(\d+)$/gm),
  ];
  await waitUntil("the server to say that lines are missing", () => dropped().length > 0);
  child.kill("SIGTERM");
  expect((await once(child, "close"))[0]).toBe(0);
  const missing = dropped().reduce((sum, [, count]) => sum + Number(count), 0);
  const seen = [...log.matchAll(/] tunnel (?:established|closed) /g)].length;
  expect(missing).toBeGreaterThan(1_000);
  expect(seen).toBeGreaterThan(1_000);
  expect(seen).toBeLessThan(2 * tunnels);
  expect(seen + missing).toBeGreaterThanOrEqual(2 * tunnels);
  // Whatever else was dropped is little.
  expect(seen + missing).toBeLessThan(2.1 * tunnels);
});
