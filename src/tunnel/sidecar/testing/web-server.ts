import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A web server on loopback. */
export async function openWebServer(
  serve: RequestListener,
): Promise<{ readonly port: number; readonly server: Server }> {
  const server = createServer(serve);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, server };
}
