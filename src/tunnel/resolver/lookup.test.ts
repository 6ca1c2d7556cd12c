import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { tcpInTime } from "../outgoing/in-time.js";

test.runIf(process.platform === "linux")("names are looked up without getaddrinfo", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const socket = await tcpInTime({ host: "LOCALHOST", port }, "it", AbortSignal.timeout(10_000), 10_000);
  expect(socket.remoteAddress).toBe("127.0.0.1");
  socket.destroy();
  server.close();

  const nobody = tcpInTime({ host: "nobody.invalid", port }, "it", AbortSignal.timeout(10_000), 10_000);
  await expect(nobody).rejects.toMatchObject({
    code: "DB_NAME_UNKNOWN",
    message: expect.stringContaining("no DNS server is asked for names that end like this"),
  });
});
