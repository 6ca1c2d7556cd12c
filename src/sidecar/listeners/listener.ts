/** One place where clients come in: opened, drained, closed. */
import { lstatSync, unlinkSync } from "node:fs";
import { Server as HttpServer } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { DrawbridgeError } from "../../errors/error.js";
import { listenOn } from "../../errors/listen.js";
import { joinHostPort } from "../../wire/address.js";
import type { ListenerConfig, Place } from "../config.js";
import { Desk, type DeskOptions } from "../desk.js";
import { createHttpProxyServer } from "./http.js";
import { createSocks5Server } from "./socks5.js";

export class Listener {
  readonly config: ListenerConfig;
  readonly desk: Desk;
  readonly #server: Server;

  constructor(options: DeskOptions) {
    this.config = options.config;
    this.desk = new Desk(options);
    this.#server = this.config.protocol === "socks5" ? createSocks5Server(this.desk) : createHttpProxyServer(this.desk);
  }

  /** Resolves to the address that was bound. */
  async open(): Promise<string> {
    const { where, protocol } = this.config;
    if ("path" in where) return await this.#openSocketFile(where);
    await listenOn(this.#server, `${protocol} proxy`, where);
    const { address, port } = this.#server.address() as AddressInfo;
    return joinHostPort(address, port);
  }

  /** No new clients; requests under way may finish. */
  drain(): void {
    this.#server.close();
    if (this.#server instanceof HttpServer) this.#server.closeIdleConnections();
  }

  destroy(): void {
    this.#server.close();
    this.desk.destroy();
  }

  async #openSocketFile({ path, fileMode }: Extract<Place, { path: string }>): Promise<string> {
    removeOldSocket(path);
    // Through the umask the file has its mode from birth: no moment in which others could connect.
    const umask = process.umask(0o777 & ~fileMode);
    try {
      await listenOn(this.#server, `${this.config.protocol} proxy`, { path });
    } finally {
      process.umask(umask);
    }
    return path;
  }
}

/** The kernel's sockaddr_un holds 108 bytes, the last of them zero. */
const MAX_PATH_BYTES = 107;

function removeOldSocket(path: string): void {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    const message = `the socket path ${path} is longer than the ${MAX_PATH_BYTES} bytes the kernel takes.`;
    throw new DrawbridgeError("DB_UDS_PATH_TOO_LONG", message);
  }
  const existing = lstatSync(path, { throwIfNoEntry: false });
  if (existing === undefined) return;
  if (!existing.isSocket()) {
    throw new DrawbridgeError("DB_UDS_NOT_SOCKET", `${path} exists and is not a socket; it is left alone.`);
  }
  unlinkSync(path);
}
