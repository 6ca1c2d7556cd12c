/** HTTP/2 sessions to a gRPC door, and dials on them. */

import { joinHostPort } from "../../base/address.js";
import type { Stream } from "../link/open.js";
import { type OpenSession, openSession } from "../link/open.js";
import { parseTarget } from "./address.js";
import type { DialOptions } from "./bounds.js";
import { frontendLost } from "./errors.js";
import { describeFrontend, type Frontend } from "./frontend.js";
import { ProxyCall } from "./proxy-call.js";
import { connectFrontend } from "./transport.js";
import type { TunnelSocket } from "./tunnel-socket.js";

export async function openGrpcSession(frontend: Frontend, stop: AbortSignal): Promise<OpenSession> {
  const socket = await connectFrontend(frontend, { alpn: ["h2"], allowHalfOpen: false }, stop);
  // Servers do not read the authority; a socket's path would not be allowed in it.
  return "uds" in frontend
    ? openSession(socket, "localhost", "http")
    : openSession(socket, joinHostPort(frontend.host, frontend.port), "https");
}

export interface SessionDial {
  readonly open: OpenSession;
  readonly frontend: Frontend;
  readonly address: string;
  readonly onOver: () => void;
  readonly setRef: (on: boolean) => void;
}

export async function dialOnSession(dial: SessionDial, stop: AbortSignal): Promise<TunnelSocket> {
  const { open, frontend, address, onOver, setRef } = dial;
  const where = describeFrontend(frontend);
  let stream: Stream;
  try {
    stream = open.call("/ProxyService/Proxy", {});
  } catch (reason) {
    onOver();
    throw frontendLost(where, reason);
  }
  return await new ProxyCall({ stream, where, address, target: parseTarget(address), onOver, setRef }).dial(stop);
}

/** A dial on a session of its own, as kube-apiserver does it. */
export async function dialGrpc(
  frontend: Frontend,
  address: string,
  { onFrontend }: Pick<DialOptions, "onFrontend">,
  stop: AbortSignal,
): Promise<TunnelSocket> {
  const open = await openGrpcSession(frontend, stop);
  onFrontend?.();
  const { session } = open;
  const setRef = (on: boolean): void => (on ? session.ref() : session.unref());
  return await dialOnSession({ open, frontend, address, onOver: () => session.destroy(), setRef }, stop);
}
