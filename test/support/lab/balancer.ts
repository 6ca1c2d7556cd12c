import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Scope } from "./scope.js";

/**
 * One address for many servers, as a load balancer in front of them is. A connection goes to a server with the fewest, by
 * lot among equals: taking turns would send agents that retry in step to the same server for ever.
 */
export class Balancer {
  readonly port: number;
  /** Open connections by backend port. */
  readonly #backends = new Map<number, number>();

  private constructor(port: number) {
    this.port = port;
  }

  static async start(scope: Pick<Scope, "defer">): Promise<Balancer> {
    const open = new Set<Socket>();
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const balancer = new Balancer((server.address() as AddressInfo).port);
    server.on("connection", (client) => {
      for (const socket of balancer.#join(client)) {
        open.add(socket);
        socket.once("close", () => open.delete(socket));
      }
    });
    scope.defer(() => {
      server.close();
      for (const socket of open) socket.destroy();
    });
    return balancer;
  }

  add(port: number): void {
    this.#backends.set(port, 0);
  }

  /** Connections from now on; those there are stay. */
  remove(port: number): void {
    this.#backends.delete(port);
  }

  clear(): void {
    this.#backends.clear();
  }

  #choose(): number | undefined {
    const fewest = Math.min(...this.#backends.values());
    const equals = [...this.#backends].filter(([, open]) => open === fewest);
    return equals[Math.floor(Math.random() * equals.length)]?.[0];
  }

  #count(port: number, change: 1 | -1): void {
    const open = this.#backends.get(port);
    if (open !== undefined) this.#backends.set(port, open + change);
  }

  #join(client: Socket): Socket[] {
    const port = this.#choose();
    if (port === undefined) {
      client.destroy();
      return [];
    }
    const backend = connect(port, "127.0.0.1");
    this.#count(port, 1);
    client.pipe(backend).pipe(client);
    // Either end may vanish with its process; the other one must learn of it.
    client.on("error", () => backend.destroy()).once("close", () => backend.destroy());
    backend
      .on("error", () => client.destroy())
      .once("close", () => {
        this.#count(port, -1);
        client.destroy();
      });
    return [client, backend];
  }
}
