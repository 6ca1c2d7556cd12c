/** A dial at an HTTP CONNECT door: the tunnel is the connection itself. */
import { isIPv6, type Socket } from "node:net";
import { parseTarget } from "./address.js";
import type { DialOptions } from "./bounds.js";
import { exchangeConnect } from "./connect-exchange.js";
import { badAnswer, DialRefusedError, frontendLost } from "./errors.js";
import { describeFrontend, type Frontend } from "./frontend.js";
import { connectFrontend } from "./transport.js";

const MAX_BODY_BYTES = 8 * 1024;

/** `name` undefined: the address's own host. */
export interface ConnectDial extends Pick<DialOptions, "name" | "allowHalfOpen" | "onFrontend"> {
  readonly address: string;
}

export async function dialConnect(frontend: Frontend, dial: ConnectDial, stop: AbortSignal): Promise<Socket> {
  const { address, allowHalfOpen = false } = dial;
  const socket = await connectFrontend(frontend, { alpn: [], allowHalfOpen }, stop);
  dial.onFrontend?.();
  const where = describeFrontend(frontend);
  try {
    const exchange = {
      request: connectRequest(address, dial.name ?? parseTarget(address).host),
      maxBodyBytes: MAX_BODY_BYTES,
      malformed: () => badAnswer(where, "it is not HTTP/1, so this may be a gRPC frontend"),
      lost: (why: unknown) => frontendLost(where, why),
    };
    const refusal = await exchangeConnect(socket, exchange, stop);
    if (refusal !== undefined) throw new DialRefusedError(address, refusal.body, refusal.status);
    return socket;
  } catch (reason) {
    socket.destroy();
    throw reason;
  }
}

/** Byte for byte what HyperShift's dialer sends: the target in the request line, the host alone, and nothing else. */
function connectRequest(address: string, host: string): string {
  return `CONNECT ${address} HTTP/1.1\r\nHost: ${isIPv6(host) ? `[${host}]` : host}\r\n\r\n`;
}
