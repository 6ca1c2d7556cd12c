import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { closed, listening } from "../load/listening.js";
import { Pipe, type Weather } from "./pipe.js";

interface Connection {
  readonly agentSide: Socket;
  readonly serverSide: Socket;
  readonly pipes: readonly Pipe[];
}

/** The network between one agent and one server, in user space: it can stall, delay, slow down, cut and lose one side. */
export class Relay {
  readonly port: number;
  readonly #server: Server;
  readonly #weather: Weather = { stalled: false, delayMs: 0, bytesPerSecond: 0 };
  readonly #connections = new Set<Connection>();
  /** Sides whose other side is gone without their knowing. */
  readonly #mute = new Set<Socket>();
  #refusing = false;

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on("connection", (socket) => this.#accept(socket, target));
  }

  static async open(port: number, target: number): Promise<Relay> {
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    await listening(server, { port, host: "127.0.0.1" });
    return new Relay(server, target);
  }

  /** Nothing passes, in either direction, ends included, until the weather is fair again. */
  stall(): void {
    this.#weather.stalled = true;
  }

  delay(ms: number): void {
    this.#weather.delayMs = ms;
  }

  slow(bytesPerSecond: number): void {
    this.#weather.bytesPerSecond = bytesPerSecond;
  }

  /** Every connection ends, and new ones are reset until the weather is fair again. */
  cut(how: "reset" | "end"): void {
    this.#refusing = true;
    for (const { agentSide, serverSide } of this.#connections) {
      for (const socket of [agentSide, serverSide]) {
        if (how === "reset") socket.resetAndDestroy();
        else socket.destroy();
      }
    }
  }

  /** One side of every connection ends; the other hears nothing any more, not even that. */
  loseSide(lost: "agent" | "server", stillRead: boolean): void {
    for (const connection of this.#connections) {
      const [gone, left] =
        lost === "agent"
          ? [connection.agentSide, connection.serverSide]
          : [connection.serverSide, connection.agentSide];
      this.#connections.delete(connection);
      left.removeAllListeners("data");
      left.removeAllListeners("end");
      gone.removeAllListeners("close");
      this.#mute.add(left);
      left.once("close", () => this.#mute.delete(left));
      if (stillRead)
        left
          .on("data", () => {})
          .once("end", () => left.destroy())
          .resume();
      else left.pause();
      gone.destroy();
    }
  }

  /** Fair weather: everything passes. */
  clear(): void {
    this.#weather.stalled = false;
    this.#weather.delayMs = 0;
    this.#weather.bytesPerSecond = 0;
    this.#refusing = false;
    for (const socket of this.#mute) socket.destroy();
    for (const { pipes } of this.#connections) for (const pipe of pipes) pipe.pump();
  }

  async close(): Promise<void> {
    this.cut("end");
    for (const socket of this.#mute) socket.destroy();
    await closed(this.#server);
  }

  #accept(agentSide: Socket, target: number): void {
    agentSide.on("error", () => {});
    if (this.#refusing) {
      agentSide.resetAndDestroy();
      return;
    }
    const serverSide = connect({ port: target, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    serverSide.on("error", () => {});
    const pipes = [new Pipe(agentSide, serverSide, this.#weather), new Pipe(serverSide, agentSide, this.#weather)];
    const connection = { agentSide, serverSide, pipes };
    this.#connections.add(connection);
    for (const socket of [agentSide, serverSide]) {
      socket.once("close", () => {
        if (agentSide.destroyed && serverSide.destroyed) this.#connections.delete(connection);
      });
    }
  }
}
