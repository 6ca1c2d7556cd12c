import { spawn } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

import { doctorHost, processFile, whyForbidden } from "./this-host.js";

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
