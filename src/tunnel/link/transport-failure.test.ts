import { once } from "node:events";
import net, { type AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { transportFailure } from "./transport-failure.js";

test("a connection that was reset is told in words", async () => {
  const server = net
    .createServer((socket) => socket.once("data", () => socket.resetAndDestroy()))
    .listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = net.connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.write("hello");
  const [error] = (await once(client, "error").catch((why: unknown) => [why])) as [Error];
  server.close();
  expect(error.message).toBe("read ECONNRESET");
  expect(transportFailure(error)).toBe("the connection was reset");
});

test("what has no words of its own is told as it is", () => {
  expect(transportFailure(new Error("nothing was received for 60 s"))).toBe("nothing was received for 60 s");
});
