import { spawn } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

import { doctorHost, listeningInodes, processFile, whyForbidden } from "./this-host.js";

test("listeningInodes finds listening sockets of both families, and only those", () => {
  const tables = [
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
    "   0: 00000000:1F9B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1 0 100 0 0 10 0",
    "   1: 0100007F:1F9C 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 12346 1 0 20 4 30 10 -1",
    "   0: 00000000000000000000000000000000:07F9 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 777 1",
  ].join("\n");
  expect([...listeningInodes(tables)]).toEqual([
    [8091, "12345"],
    [2041, "777"],
  ]);
});

test("this very process is found by the port it listens on", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const found = (await doctorHost().listeners()).find((listener) => listener.port === port);
  server.close();
  expect(found?.owner).toMatchObject({ pid: process.pid });
});

test("a relative file of a process is named by the path that the operator knows", () => {
  expect(processFile(process.pid, "pki/agent.key")).toBe(join(process.cwd(), "pki/agent.key"));
  expect(processFile(process.pid, "/pki/agent.key")).toBe("/pki/agent.key");
});

test.runIf(process.getuid?.() === 0)("who may open a socket is judged by the user of the process", () => {
  const directory = mkdtempSync(join(tmpdir(), "drawbridge-socket-"));
  const socket = join(directory, "k.sock");
  writeFileSync(socket, "");
  const nobody = spawn("sleep", ["60"], { uid: 65534, gid: 65534, cwd: "/" });
  try {
    chmodSync(socket, 0o660);
    expect(whyForbidden(process.pid, socket)).toBeUndefined();
    chmodSync(directory, 0o755);
    const who = `process ${nobody.pid} runs as user 65534 with the groups 65534`;
    expect(whyForbidden(nobody.pid!, socket)).toBe(`${who}, and ${socket} is of 0:0 with mode 0660`);
    chownSync(socket, 0, 65534);
    expect(whyForbidden(nobody.pid!, socket)).toBeUndefined();
    chmodSync(directory, 0o700);
    expect(whyForbidden(nobody.pid!, socket)).toBe(`${who}, and ${directory} is of 0:0 with mode 0700`);
  } finally {
    nobody.kill();
    rmSync(directory, { recursive: true, force: true });
  }
});
