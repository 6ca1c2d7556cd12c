import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { closed, listening } from "./listening.js";

/** A connection whose dial was given up has this long to be closed: a link that died silently is noticed within 55 s. */
const ORPHAN_MS = 75_000;

/**
 * The endpoints. One port, but an address of 127.0.0.0/8 for each tunnel, so that a connection says by itself whose it
 * is: nothing has to be written into the tunnel for that.
 */
export class Hub {
  readonly #server: Server;
  readonly #port: number;
  readonly #onOrphan: (address: string) => void;
  readonly #expected = new Map<string, (socket: Socket) => void>();
  readonly #sockets = new Set<Socket>();
  #given = 0;

  private constructor(server: Server, onOrphan: (address: string) => void) {
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
    this.#onOrphan = onOrphan;
    server.on("connection", (socket) => this.#accept(socket));
  }

  static async open(onOrphan: (address: string) => void): Promise<Hub> {
    // All of 127.0.0.0/8 at once can only be had by listening everywhere; others are turned away below.
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    await listening(server, { port: 0, host: "0.0.0.0", backlog: 1024 });
    return new Hub(server, onOrphan);
  }

  get open(): number {
    return this.#sockets.size;
  }

  /** An address nobody has dialled yet. */
  newAddress(): { readonly number: number; readonly address: string } {
    const number = ++this.#given;
    const host = `127.${1 + ((number >> 16) & 0x7f)}.${(number >> 8) & 0xff}.${number & 0xff}`;
    return { number, address: `${host}:${this.#port}` };
  }

  expect(address: string, serve: (socket: Socket) => void): void {
    this.#expected.set(address, serve);
  }

  forget(address: string): void {
    this.#expected.delete(address);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await closed(this.#server);
  }

  #accept(socket: Socket): void {
    if (socket.remoteAddress?.startsWith("127.") !== true) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.on("error", () => {});
    const address = `${socket.localAddress}:${socket.localPort}`;
    const serve = this.#expected.get(address);
    const late = serve === undefined ? setTimeout(() => this.#onOrphan(address), ORPHAN_MS) : undefined;
    socket.once("close", () => {
      clearTimeout(late);
      this.#sockets.delete(socket);
    });
    if (serve) serve(socket);
    else socket.once("end", () => socket.destroy()).resume();
  }
}
