/** One place where clients come in: opened, drained, closed. */
import { Server as HttpServer } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { joinHostPort } from "../../../base/address.js";
import { listenOn } from "../../../base/listen.js";
import { listenOnSocketFile } from "../../../base/socket-file.js";
import type { ListenerConfig } from "../config.js";
import { Desk, type DeskOptions } from "../desk.js";
import { createHttpProxyServer } from "./http.js";
import { createSocks5Server } from "./socks5.js";

export class Listener {
  readonly config: ListenerConfig;
  readonly desk: Desk;
  readonly #server: Server;
  #removeSocket = (): void => {};

  constructor(options: DeskOptions) {
    this.config = options.config;
    this.desk = new Desk(options);
    this.#server = this.config.protocol === "socks5" ? createSocks5Server(this.desk) : createHttpProxyServer(this.desk);
  }

  /** Resolves to the address that was bound. */
  async open(): Promise<string> {
    const { where, protocol } = this.config;
    const what = `${protocol} proxy`;
    // The gate counts clients, and they are told in their own protocol that they are late.
    const limits = { requestTimeoutMs: 0, maxPending: this.desk.limits.maxConnections };
    if ("path" in where) {
      this.#removeSocket = await listenOnSocketFile(this.#server, what, { ...where, replace: true }, limits);
      return where.path;
    }
    await listenOn(this.#server, what, where, limits);
    const { address, port } = this.#server.address() as AddressInfo;
    return joinHostPort(address, port);
  }

  /** No new clients; requests under way may finish. */
  drain(): void {
    this.#removeSocket();
    this.#server.close();
    if (this.#server instanceof HttpServer) this.#server.closeIdleConnections();
  }

  destroy(): void {
    this.#removeSocket();
    this.#server.close();
    this.desk.destroy();
  }
}
