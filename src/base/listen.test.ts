import { createServer, type Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { listenOn } from "./listen.js";

const servers: Server[] = [];
const fresh = (): Server => {
  const server = createServer();
  servers.push(server);
  return server;
};

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

test("a listener without a host listens on all interfaces", async () => {
  const server = fresh();
  await listenOn(server, "test", { host: "", port: 0 }, {});
  expect(server.address()).toMatchObject({ address: expect.stringMatching(/^(::|0\.0\.0\.0)$/) });
});

test.each([
  [{ host: "192.0.2.1", port: 80 }, "192.0.2.1:80: it is not an address of this host"],
  [{ host: "2001:db8::1", port: 80 }, "[2001:db8::1]:80: "],
  [{ path: "/nowhere/at/all.sock" }, "/nowhere/at/all.sock: "],
])("says why %j cannot be opened", async (where, sentence) => {
  await expect(listenOn(fresh(), "test", where, {})).rejects.toThrow(`The test listener cannot open ${sentence}`);
});

test("a connection that cannot be accepted does not end the process", async () => {
  const server = fresh();
  await listenOn(server, "test", { host: "127.0.0.1", port: 0 }, {});
  expect(() => server.emit("error", new Error("accept EMFILE"))).not.toThrow();
});
