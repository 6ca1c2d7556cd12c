import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
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
  [{ host: "no.such.name.invalid", port: 80 }, "no.such.name.invalid:80: its name cannot be looked up"],
  [{ path: "/nowhere/at/all.sock" }, "/nowhere/at/all.sock: "],
])("says why %j cannot be opened", async (where, sentence) => {
  await expect(listenOn(fresh(), "test", where, {})).rejects.toThrow(`The test listener cannot open ${sentence}`);
});

test("a port that this process listens on already is told from one of another process", async () => {
  const [probe, other] = [fresh(), fresh()];
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await expect(listenOn(other, "health", { port }, {})).rejects.toMatchObject({ code: "DB_LISTEN_IN_USE" });
  probe.close();
  await once(probe, "close");
  await listenOn(other, "agent", { port }, {});
  await expect(listenOn(fresh(), "admin", { port }, {})).rejects.toMatchObject({
    code: "DB_LISTEN_TWICE",
    message: `The admin listener cannot open *:${port}: the agent listener of this process has that port.`,
  });
});

test("a connection that cannot be accepted does not end the process", async () => {
  const server = fresh();
  await listenOn(server, "test", { host: "127.0.0.1", port: 0 }, {});
  expect(() => server.emit("error", new Error("accept EMFILE"))).not.toThrow();
});
