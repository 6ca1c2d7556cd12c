import { spawn, spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

import { doctorHost, isTrusted, processFile, readAs, whyForbidden } from "./this-host.js";

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

test.runIf(process.getuid?.() === 0)(
  "a token is read for a process that may read it itself, and for no other",
  async () => {
    const directory = mkdtempSync(join(tmpdir(), "drawbridge-token-"));
    const [token, link, closed] = [join(directory, "token"), join(directory, "link"), join(directory, "closed")];
    writeFileSync(token, "secret", { mode: 0o600 });
    symlinkSync(join(closed, "token"), link);
    mkdirSync(closed, { mode: 0o700 });
    writeFileSync(join(closed, "token"), "hidden", { mode: 0o644 });
    chmodSync(directory, 0o755);
    const nobody = spawn("sleep", ["60"], { uid: 65534, gid: 65534, cwd: "/" });
    try {
      expect(await readAs(process.pid, token)).toBe("secret");
      expect(await readAs(nobody.pid!, token)).toBeUndefined();
      expect(await readAs(nobody.pid!, link)).toBeUndefined();
      expect(await readAs(nobody.pid!, "/dev/zero")).toBeUndefined();
      chownSync(token, 65534, 0);
      expect(await readAs(nobody.pid!, token)).toBe("secret");
      await expect(readAs(process.pid, directory)).rejects.toMatchObject({ code: "EISDIR" });
      expect([process.pid, nobody.pid!].map(isTrusted)).toEqual([true, false]);
    } finally {
      nobody.kill();
      rmSync(directory, { recursive: true, force: true });
    }
  },
);

const mayMount = spawnSync("unshare", ["--mount", "true"]).status === 0;

test.runIf(mayMount)("a link in the files of a container does not lead to a token of the host", async () => {
  const directory = mkdtempSync(join(tmpdir(), "drawbridge-token-"));
  writeFileSync(join(directory, "token"), "of the host");
  const script = `mount -t tmpfs none ${directory} && echo mine > ${directory}/own && echo ready && exec sleep 60`;
  const container = spawn("unshare", ["--mount", "sh", "-c", script]);
  try {
    await new Promise((resolve) => container.stdout.once("data", resolve));
    const own = processFile(container.pid!, join(directory, "own"));
    expect(own).toBe(`/proc/${container.pid}/root${join(directory, "own")}`);
    expect(await readAs(container.pid!, own)).toBe("mine\n");
    expect(await readAs(container.pid!, join(directory, "token"))).toBeUndefined();
    expect(isTrusted(container.pid!)).toBe(false);
  } finally {
    container.kill();
    rmSync(directory, { recursive: true, force: true });
  }
});
