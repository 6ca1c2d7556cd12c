import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { type Backend, choose } from "./backends.js";
import { Check, type CheckOptions } from "./check.js";

const HOST = "127.0.0.1";
const CONNECT_TIMEOUT_MS = 3_000;

/** An address of the balancer. */
export interface Entrance {
  readonly port: number;
  /** Names of the backends that took its connections, by the callers' ports. Callers forget what they do not need. */
  readonly taken: Map<number, string>;
}

/**
 * One address for all pods of a kube-apiserver, as a load balancer that checks them. A connection that a pod refuses is
 * given to another one, as HAProxy's redispatch does; the caller has not sent anything that could be lost.
 */
export class Balancer {
  readonly #options: CheckOptions;
  readonly #tell: (line: string) => void;
  readonly #backends = new Map<string, Backend>();
  readonly #checks = new Map<string, Check>();
  readonly #servers: Server[] = [];
  readonly #open = new Set<Socket>();

  constructor(options: CheckOptions, tell: (line: string) => void = () => {}) {
    this.#options = options;
    this.#tell = tell;
  }

  get known(): ReadonlySet<string> {
    return new Set(this.#backends.keys());
  }

  get ready(): string[] {
    return [...this.#backends.values()].filter(({ isReady }) => isReady).map(({ name }) => name);
  }

  /** All that there are now: new ones are checked before they get a connection, others get none any more. */
  follow(pods: readonly { readonly name: string; readonly address: string }[]): void {
    for (const [name, check] of this.#checks) {
      if (pods.some((pod) => pod.name === name)) continue;
      check.end();
      this.#checks.delete(name);
      this.#backends.delete(name);
      this.#tell(`${name} is gone`);
    }
    for (const { name, address } of pods) {
      if (this.#backends.has(name)) continue;
      const backend: Backend = { name, address, isReady: false, open: 0 };
      this.#backends.set(name, backend);
      const changed = () => this.#tell(`${name} is ${backend.isReady ? "in" : "out"}`);
      this.#checks.set(name, new Check(backend, this.#options, changed));
    }
  }

  async listen(): Promise<Entrance> {
    const taken = new Map<number, string>();
    const server = createServer({ allowHalfOpen: true }, (client) => {
      // A caller may be gone before anything is done for it.
      client.on("error", () => {});
      this.#remember(client);
      void this.#serve(client, taken);
    });
    server.listen(0, HOST);
    await once(server, "listening");
    this.#servers.push(server);
    return { port: (server.address() as AddressInfo).port, taken };
  }

  end(): void {
    for (const server of this.#servers) server.close();
    for (const check of this.#checks.values()) check.end();
    for (const socket of this.#open) socket.destroy();
  }

  async #serve(client: Socket, taken: Map<number, string>): Promise<void> {
    const tried = new Set<Backend>();
    while (!client.destroyed) {
      const backend = choose(this.#backends.values(), tried);
      if (backend === undefined) break;
      tried.add(backend);
      backend.open++;
      const socket = await this.#connect(backend);
      if (socket === undefined) {
        backend.open--;
        continue;
      }
      taken.set(client.remotePort ?? 0, backend.name);
      socket.once("close", () => backend.open--);
      join(client, socket);
      return;
    }
    client.resetAndDestroy();
  }

  async #connect(backend: Backend): Promise<Socket | undefined> {
    const socket = connect({ host: backend.address, port: this.#options.port, allowHalfOpen: true });
    this.#remember(socket);
    try {
      await once(socket, "connect", { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
      return socket;
    } catch (reason) {
      // Until the next check finds it ready.
      backend.isReady = false;
      this.#tell(`${backend.name} is out, since it could not be reached: ${(reason as Error).message}`);
      socket.on("error", () => {});
      socket.destroy();
      return undefined;
    }
  }

  #remember(socket: Socket): void {
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
  }
}

/** Each end learns how the other one ended. */
function join(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.setNoDelay(true);
    from.pipe(to);
    from.on("error", () => to.resetAndDestroy());
    from.once("close", () => to.destroySoon());
  }
  if (one.destroyed) other.destroy();
}
