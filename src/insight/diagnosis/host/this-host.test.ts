import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";

import { doctorHost, listeningInodes, processFile } from "./this-host.js";

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
