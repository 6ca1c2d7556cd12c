import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { readUntil } from "../../support/callers/bytes.js";
import type { House } from "./house.js";

/** A connection to the house's Unix CONNECT door, before anything was asked. */
export function knock(house: House): Promise<Socket> {
  const socket = connect({ path: house.connectPath, allowHalfOpen: true });
  socket.on("error", () => {});
  return new Promise((resolve) => socket.once("connect", () => resolve(socket)));
}

export function knockTls(house: House): Promise<Socket> {
  // A TLS socket is half-open only when the one below it is.
  const below = connect({ host: "127.0.0.1", port: house.connectPort, allowHalfOpen: true });
  const socket = connectTls({ socket: below, host: "127.0.0.1", ...house.pki.clientTls });
  socket.on("error", () => {});
  return new Promise((resolve, reject) => {
    socket.once("secureConnect", () => resolve(socket));
    socket.once("error", reject);
  });
}

export async function readHead(socket: Socket): Promise<string> {
  const end = (bytes: Buffer): number => {
    const at = bytes.indexOf("\r\n\r\n");
    return at < 0 ? -1 : at + 4;
  };
  const head = await readUntil(socket, end, "the head");
  return head.toString("latin1");
}

/** A tunnel that stands. */
export async function tunnelTo(house: House, address: string, open = knock): Promise<Socket> {
  const socket = await open(house);
  socket.write(`CONNECT ${address} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  const head = await readHead(socket);
  if (!head.startsWith("HTTP/1.1 200 ")) throw new Error(`the door answered ${head}`);
  return socket;
}
