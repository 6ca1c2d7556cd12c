import { connect, createServer, type Server, type Socket } from "node:net";
import { freePort } from "../../test/support/processes/ports.js";

/** A port in front of another one: while it is closed nobody listens, while it is open connections are passed on. */
export class SwitchedPort {
  readonly port: number;
  readonly #to: number;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  private constructor(port: number, to: number) {
    this.port = port;
    this.#to = to;
  }

  static async before(to: number): Promise<SwitchedPort> {
    return new SwitchedPort(await freePort(), to);
  }

  open(): Promise<void> {
    const server = createServer({ noDelay: true }, (near) => {
      const far = connect({ port: this.#to, host: "127.0.0.1", noDelay: true });
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(from);
        from.on("error", () => {});
        from.once("close", () => {
          this.#sockets.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
    });
    this.#server = server;
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(this.port, "127.0.0.1", resolve);
    });
  }

  close(): void {
    this.#server?.close();
    this.#server = undefined;
    for (const socket of this.#sockets) socket.destroy();
  }
}
