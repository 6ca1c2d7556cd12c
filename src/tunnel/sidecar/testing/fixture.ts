/** A sidecar on loopback with plain ways, everything given back at the end of a test. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { Runtime } from "../../../base/runtime.js";
import type { RequestDecided } from "../channels.js";
import { requestDecided } from "../channels.js";
import type { ClientLimits, Protocol } from "../config.js";
import { DEFAULT_ROUTING } from "../config.js";
import { Sidecar } from "../sidecar.js";
import { type PlainRouter, plainRouter } from "./plain-router.js";

export interface SidecarFixture {
  readonly sidecar: Sidecar;
  readonly port: number;
  readonly router: PlainRouter;
  /** What was decided so far. */
  readonly decisions: RequestDecided[];
  /** A client's connection to the listener; half-open, as real clients are. */
  client(): Promise<Socket>;
}

export const TEST_LIMITS: ClientLimits = {
  maxConnections: 100,
  handshakeTimeoutMs: 5_000,
  maxHeaderBytes: 16_384,
  idleTimeoutMs: 0,
};

export async function startSidecarFixture(
  protocol: Protocol,
  limits: Partial<ClientLimits> = {},
  runtime?: Runtime,
): Promise<SidecarFixture> {
  const router = plainRouter();
  const sidecar = new Sidecar(
    {
      listeners: [
        {
          name: protocol,
          protocol,
          address: { host: "127.0.0.1", port: 0 },
          routing: DEFAULT_ROUTING,
        },
      ],
      limits: { ...TEST_LIMITS, ...limits },
      probe: { intervalMs: 60_000, timeoutMs: 1_000 },
    },
    undefined,
    () => router,
    runtime,
  );
  const decisions: RequestDecided[] = [];
  const forget = requestDecided.subscribe((kind) => decisions.push(kind), sidecar);
  const [address = ""] = await sidecar.start();
  onTestFinished(() => {
    forget();
    sidecar.destroy();
    for (const { socket } of router.opened) socket.destroy();
  });
  const port = Number(address.slice(address.lastIndexOf(":") + 1));
  return { sidecar, port, router, decisions: decisions, client: () => connectTo(port) };
}

export async function connectTo(port: number): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true, noDelay: true });
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** A target on loopback. */
export async function openTarget(serve: (socket: Socket) => void): Promise<number> {
  const server: Server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on("error", () => {});
    onSocket.add(socket);
    serve(socket);
  });
  const onSocket = new Set<Socket>();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of onSocket) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** Sends every byte back, and its own end when the client's came. */
export const echo = (socket: Socket): void => void socket.pipe(socket);

/** Everything until the peer ends. */
export async function readAll(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Exactly so many bytes; what comes behind them stays in the socket. */
export async function readExactly(socket: Socket, count: number): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  for (;;) {
    const chunk = socket.read() as Buffer | null;
    if (chunk !== null) bytes = Buffer.concat([bytes, chunk]);
    if (bytes.length >= count) {
      if (bytes.length > count) socket.unshift(bytes.subarray(count));
      return bytes.subarray(0, count);
    }
    if (socket.readableEnded || socket.destroyed) throw new Error(`the connection ended before ${count} bytes`);
    const over = new AbortController();
    const events = ["readable", "end", "close"].map((event) => once(socket, event, { signal: over.signal }));
    await Promise.race(events);
    over.abort();
    await Promise.allSettled(events);
  }
}
