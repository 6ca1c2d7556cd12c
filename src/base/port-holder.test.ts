import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { listenOn } from "./listen.js";
import { listeningInodes } from "./port-holder.js";

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

test("who holds a port is named with its pid and its script", async () => {
  const script =
    "require('node:net').createServer().listen(0, '127.0.0.1', function () { console.log(this.address().port) })";
  const other = spawn(process.execPath, ["-e", script, "proxy-server"], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = (await once(other.stdout, "data", { signal: AbortSignal.timeout(20_000) })) as [Buffer];
    const port = Number(line);
    await expect(listenOn(createServer(), "health", { host: "127.0.0.1", port }, {})).rejects.toMatchObject({
      code: "DB_LISTEN_IN_USE",
      message: expect.stringMatching(
        new RegExp(`:${port}: it is already in use: port ${port} is held by pid ${other.pid} .+\\.$`),
      ),
    });
  } finally {
    other.kill("SIGKILL");
  }
}, 30_000);
