import type { Duplex } from "node:stream";
import { dialThrough } from "../../src/tunnel/client/index.js";
import { readToEnd } from "../../test/support/callers/bytes.js";
import { askDoor, connectRequest, openDoor } from "../../test/support/callers/connect.js";
import type { GrpcDialer } from "../../test/support/callers/grpc-dialer.js";

/** How a caller comes in: CONNECT, gRPC with our client, gRPC with upstream's (the one in kube-apiserver). */
export type DoorKind = "connect" | "grpc" | "grpc-go";

export interface ServerDoors {
  readonly connectPath: string;
  readonly grpcPath: string;
  /** Upstream's client, where it is built. */
  readonly goDialer: GrpcDialer | undefined;
}

/** Longer than any dial may take; the watchdog is faster. */
const DIAL_WITHIN_MS = 40_000;

export class Doors {
  readonly kinds: readonly DoorKind[];
  readonly #servers: readonly ServerDoors[];

  constructor(servers: readonly ServerDoors[]) {
    this.#servers = servers;
    const withGo = servers.every(({ goDialer }) => goDialer !== undefined);
    this.kinds = withGo ? ["connect", "grpc", "grpc-go"] : ["connect", "grpc"];
  }

  /** The tunnel; rejects with the refusal's words. */
  async dial(kind: DoorKind, server: number, address: string): Promise<Duplex> {
    const { connectPath, grpcPath, goDialer } = this.#servers[server]!;
    if (kind === "grpc")
      return await dialThrough({ mode: "grpc", uds: grpcPath }, address, { timeoutMs: DIAL_WITHIN_MS });
    if (kind === "grpc-go") {
      const answer = await goDialer!.dial(address, DIAL_WITHIN_MS);
      if (typeof answer === "string") throw new Error(answer);
      return answer;
    }
    const request = connectRequest(address);
    const { status, socket } = await askDoor({ transport: "uds", path: connectPath }, request, DIAL_WITHIN_MS);
    if (status === 200) return socket;
    const { bytes } = await readToEnd(socket);
    socket.destroy();
    throw new Error(`${status} ${bytes.toString("utf8").trim()}`);
  }

  /** Begins a dial and hangs up after a while, whatever has come of it by then. */
  async dialAndHangUp(kind: "connect" | "grpc", server: number, address: string, afterMs: number): Promise<void> {
    const { connectPath, grpcPath } = this.#servers[server]!;
    if (kind === "grpc") {
      const signal = AbortSignal.timeout(afterMs);
      const socket = await dialThrough({ mode: "grpc", uds: grpcPath }, address, { signal }).catch(() => undefined);
      socket?.destroy();
      return;
    }
    const socket = await openDoor({ transport: "uds", path: connectPath });
    socket.write(connectRequest(address));
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    socket.destroy();
  }

  /** Writes the beginning of a request and leaves. */
  async mumble(server: number, bytes: number): Promise<void> {
    const socket = await openDoor({ transport: "uds", path: this.#servers[server]!.connectPath });
    socket.write(connectRequest("127.0.0.1:1").slice(0, bytes));
    await new Promise((resolve) => setTimeout(resolve, 20));
    socket.destroy();
  }
}
