/** The log of a real server whose standard error is closed, full or not read: it goes on, stays small and ends well. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { makePki } from "../support/processes/certs.js";
import { waitUntil } from "../support/processes/deadline.js";
import { ours } from "../support/processes/executables.js";
import { get } from "../support/processes/http.js";
import { Scope } from "../support/processes/scope.js";
import { choosePlace, serverFlags } from "../support/processes/server.js";

vi.setConfig({ testTimeout: 90_000 });

const scope = new Scope();
afterEach(() => scope.close());

async function startServer(stderr: "pipe" | number, flags: readonly string[] = []) {
  const dir = scope.tempDir();
  const place = await choosePlace("connect-uds", dir);
  const args = [...serverFlags(place, makePki(dir)), ...flags];
  const child = spawn(ours("proxy-server"), args, { stdio: ["ignore", "ignore", stderr] });
  scope.defer(() => void child.kill("SIGKILL"));
  const isHealthy = async () => (await get(place.healthPort, "/healthz")).status === 200;
  return {
    child,
    place,
    isHealthy,
    untilHealthy: () => waitUntil("the server to be healthy", isHealthy),
    residentBytes: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) * 1024,
  };
}

/** Asks a server without agents for a connection, which it refuses and logs. */
async function ask(path: string): Promise<void> {
  const socket = connect(path);
  socket.on("error", () => undefined);
  socket.end("CONNECT 192.0.2.1:443 HTTP/1.1\r\nHost: 192.0.2.1:443\r\n\r\n");
  socket.resume();
  await once(socket, "close");
}

async function askOften(path: string, times: number): Promise<void> {
  for (let asked = 0; asked < times; asked += 50) await Promise.all(Array.from({ length: 50 }, () => ask(path)));
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
