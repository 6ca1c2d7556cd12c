/** A SOCKS5 client that says exactly what a test wants said. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { readExactly } from "../callers/bytes.js";

export interface Socks5Answer {
  /** The reply's code; the method's (255) when the greeting was refused already. */
  readonly code: number;
  /** Open, with everything behind the reply still in it. */
  readonly socket: Socket;
}

export interface Socks5Request {
  readonly methods?: readonly number[];
  readonly command?: number;
  /** The address with its type in front; undefined: the host as a name. */
  readonly address?: Buffer;
  readonly host?: string;
  readonly port?: number;
}

export async function askSocks5(proxyPort: number, request: Socks5Request): Promise<Socks5Answer> {
  const { methods = [0], command = 1, host = "", port = 0 } = request;
  const socket = connect({ host: "127.0.0.1", port: proxyPort, allowHalfOpen: true });
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(Buffer.of(5, methods.length, ...methods));
  const [, method = 0xff] = await readExactly(socket, 2);
  if (method !== 0) return { code: method, socket };
  const address = request.address ?? Buffer.concat([Buffer.of(3, host.length), Buffer.from(host)]);
  socket.write(Buffer.concat([Buffer.of(5, command, 0), address, Buffer.of(port >> 8, port & 0xff)]));
  const [, code = 0xff, , type] = await readExactly(socket, 4);
  await readExactly(socket, (type === 4 ? 16 : 4) + 2);
  return { code, socket };
}

export function ipv4(address: string): Buffer {
  return Buffer.of(1, ...address.split(".").map(Number));
}
