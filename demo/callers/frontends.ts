import { readFileSync } from "node:fs";
import type { Duplex } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { dialThrough } from "../../src/tunnel/client/index.js";
import { readToEnd } from "../../test/support/callers/bytes.js";
import { askFrontend, type ConnectFrontend, connectRequest } from "../../test/support/callers/connect.js";
import { within } from "../../test/support/processes/deadline.js";
import { WEBHOOK_NAME } from "../pki.js";

/** A way into the proxy-server. */
export interface Frontend {
  readonly title: string;
  /** A connection to `host:port` on the agents' side. */
  dial(target: string): Promise<Duplex>;
}

/** Byte for byte what kube-apiserver sends, which our own library need not. */
export function connectFrontend(title: string, frontend: ConnectFrontend): Frontend {
  return {
    title,
    async dial(target) {
      const { status, socket } = await askFrontend(frontend, connectRequest(target));
      if (status === 200) return socket;
      const { bytes } = await readToEnd(socket);
      throw new Error(`the proxy-server answered ${status}: ${bytes.toString("utf8").trim()}`);
    },
  };
}

/** By our own library. */
export function grpcFrontend(title: string, path: string): Frontend {
  return { title, dial: (target) => dialThrough({ mode: "grpc", uds: path }, target, { redialMs: 0 }) };
}

/** TLS to the webhook inside the tunnel: its name is checked against its authority, wherever it is. */
export async function secured(tunnel: Duplex, caFile: string): Promise<TLSSocket> {
  const socket = connectTls({ socket: tunnel, servername: WEBHOOK_NAME, ca: readFileSync(caFile) });
  const ready = new Promise<void>((resolve, reject) => {
    socket.once("secureConnect", resolve);
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("the tunnel was closed before TLS was agreed on")));
  });
  try {
    await within(10_000, "TLS with the webhook", ready);
  } catch (reason) {
    socket.destroy();
    throw reason;
  }
  // Later errors are told to whoever reads; unheard they would end the demo.
  socket.on("error", () => {});
  return socket;
}
