/** A TCP relay that passes every byte on so much later: a long link without a network namespace. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Relay {
  readonly port: number;
  close(): Promise<void>;
}

export async function startSlowRelay(toPort: number, oneWayMs: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(toPort, "127.0.0.1");
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true);
      from.on("error", () => {});
      from.on("data", (chunk) => setTimeout(() => to.write(chunk), oneWayMs));
      from.on("close", () => setTimeout(() => to.destroy(), oneWayMs));
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
