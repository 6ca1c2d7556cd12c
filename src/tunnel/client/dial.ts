/** Opens a connection to an address that only the agents of a proxy-server can reach. */
import { joinHostPort } from "../../base/address.js";
import { dialConnect } from "./connect-dial.js";
import { type DialOptions, dialWithinBounds } from "./errors.js";
import { canonicalTarget, type Frontend, parseTarget } from "./frontend.js";
import { dialGrpc } from "./grpc-pool.js";
import type { TunnelSocket } from "./grpc-tunnel.js";

/** Whatever dials: a frontend by itself, or a pool that shares one connection to it. */
export interface Dialer {
  dial(address: string, options?: DialOptions): Promise<TunnelSocket>;
}

/**
 * Dials `host:port` through the frontend; the agent resolves names. Rejects with a DrawbridgeError, with a
 * DialRefusedError when the server or the agent said no, or with the reason of `options.signal`.
 */
export async function dialThrough(
  frontend: Frontend,
  target: string,
  options: DialOptions = {},
): Promise<TunnelSocket> {
  const address = canonicalTarget(target);
  const name = options.name === undefined ? undefined : parseTarget(joinHostPort(options.name, 1)).host;
  return await dialWithinBounds(address, options, (stop): Promise<TunnelSocket> => {
    return frontend.mode === "grpc"
      ? dialGrpc(frontend, address, options, stop)
      : dialConnect(frontend, { ...options, name, address }, stop);
  });
}

export function dialerOf(route: Frontend | Dialer): Dialer {
  return "dial" in route ? route : { dial: (address, options) => dialThrough(route, address, options) };
}
