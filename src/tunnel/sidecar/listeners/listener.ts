/** One address at which clients connect: opened, drained, closed. */
import { Server as HttpServer } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { joinHostPort } from "../../../base/address.js";
import { listenOn, listenOnSocketFile } from "../../../base/listen.js";
import type { ProxyListenerConfig } from "../config.js";
import { ConnectionHandler, type ConnectionHandlerOptions } from "../connection-handler.js";
import { createHttpProxyServer } from "./http.js";
import { createSocks5Server } from "./socks5.js";

export class ProxyListener {
  readonly config: ProxyListenerConfig;
  readonly handler: ConnectionHandler;
  readonly #server: Server;
  #removeSocket = (): void => {};

  constructor(options: ConnectionHandlerOptions) {
    this.config = options.config;
    this.handler = new ConnectionHandler(options);
    this.#server =
      this.config.protocol === "socks5" ? createSocks5Server(this.handler) : createHttpProxyServer(this.handler);
  }

  /** Resolves to the address that was bound. */
  async open(): Promise<string> {
    const { address: where, protocol } = this.config;
    const what = `${protocol} proxy`;
    // ConnectionLimit counts clients, and late ones are refused in their own protocol.
    const limits = { requestTimeoutMs: 0, maxPending: this.handler.limits.maxConnections };
    if ("path" in where) {
      const { remove } = await listenOnSocketFile(this.#server, what, { ...where, replace: true }, limits);
      this.#removeSocket = remove;
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
    this.handler.destroy();
  }
}
