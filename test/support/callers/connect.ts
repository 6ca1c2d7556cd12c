import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { CertFiles } from "../processes/certs.js";
import { within } from "../processes/deadline.js";
import { readUntil } from "./bytes.js";

/** A CONNECT frontend as a caller sees it. */
export type ConnectFrontend =
  | { readonly transport: "uds"; readonly path: string }
  | { readonly transport: "tcp"; readonly host: string; readonly port: number; readonly certs: Partial<CertFiles> };

/** The proxy's answer, byte for byte. `socket` has everything after the head still in it. */
export interface ConnectAnswer {
  readonly status: number;
  /** All bytes up to and including the empty line. */
  readonly head: string;
  /** How many bytes came in the same reads as the head but belong behind it; kube-apiserver refuses any. */
  readonly bytesBehindHead: number;
  readonly socket: Socket;
}

const HEAD_END = "\r\n\r\n";

/** What kube-apiserver writes: the target in the request line, a Host that says nothing, no other header. */
export function connectRequest(target: string): string {
  return `CONNECT ${target} HTTP/1.1\r\nHost: 127.0.0.1${HEAD_END}`;
}

/** A connection to the frontend itself, with TLS done where the frontend has it. Half-open, so that ends can be told apart. */
export async function openFrontend(frontend: ConnectFrontend, withinMs = 10_000): Promise<Socket> {
  const socket =
    frontend.transport === "uds" ? connect({ path: frontend.path, allowHalfOpen: true }) : openTls(frontend);
  const ready = new Promise<Socket>((resolve, reject) => {
    socket.once(frontend.transport === "uds" ? "connect" : "secureConnect", () => resolve(socket));
    socket.once("error", reject);
  });
  try {
    await within(withinMs, "a connection to the frontend", ready);
  } catch (reason) {
    socket.destroy();
    throw reason;
  }
  // A reset is an outcome that tests assert on by reading; unheard it would end the tester instead.
  socket.on("error", () => {});
  return socket;
}

function openTls(frontend: ConnectFrontend & { transport: "tcp" }): Socket {
  const { ca, cert, key } = frontend.certs;
  return connectTls({
    // A TLS socket is half-open only when the socket below it is.
    socket: connect({ host: frontend.host, port: frontend.port, allowHalfOpen: true }),
    host: frontend.host,
    ...(ca === undefined ? {} : { ca: readFileSync(ca) }),
    ...(cert === undefined ? {} : { cert: readFileSync(cert) }),
    ...(key === undefined ? {} : { key: readFileSync(key) }),
  });
}

/** Sends `request` as it is and reads one response head. */
export async function askFrontend(
  frontend: ConnectFrontend,
  request: string | Buffer,
  withinMs = 20_000,
): Promise<ConnectAnswer> {
  const socket = await openFrontend(frontend);
  try {
    socket.write(request);
    return await readAnswer(socket, withinMs);
  } catch (reason) {
    socket.destroy();
    throw reason;
  }
}

export async function readAnswer(socket: Socket, withinMs = 20_000): Promise<ConnectAnswer> {
  let seen = 0;
  const head = await readUntil(
    socket,
    (bytes) => {
      seen = bytes.length;
      const end = bytes.indexOf(HEAD_END);
      return end < 0 ? -1 : end + HEAD_END.length;
    },
    "a response head",
    withinMs,
  );
  const text = head.toString("latin1");
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1] ?? Number.NaN);
  return { status, head: text, bytesBehindHead: seen - head.length, socket };
}
