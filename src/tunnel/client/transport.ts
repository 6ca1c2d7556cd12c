/** The connection to a frontend, before anything is said on it. */

import { statSync } from "node:fs";
import net, { type Socket } from "node:net";
import { createSecureContext, type SecureContext, type TLSSocket } from "node:tls";
import { connected } from "../outgoing/connected.js";
import { alertIn, explainConnect, explainHangUp, explainRefused, explainWrongPort } from "../outgoing/explain.js";
import type { Credentials } from "../outgoing/facts.js";
import { type Secured, secure } from "../outgoing/secure.js";
import { socketUnreachable } from "./errors.js";
import { certificatesOf, describeFrontend, type Frontend, type FrontendTls } from "./frontend.js";

/** A dead server is noticed although nothing is sent. */
const TCP_KEEPALIVE_MS = 15_000;

export async function connectFrontend(
  frontend: Frontend,
  options: { readonly alpn: readonly string[]; readonly allowHalfOpen: boolean },
  stop: AbortSignal,
): Promise<Socket> {
  return (await reachFrontend(frontend, options, stop)).socket;
}

/** A server that refuses a client's certificate hangs up within this after the handshake. */
const HANG_UP_MS = 1_000;

/** Resolves once the frontend has accepted us, as far as that can be seen without asking it for anything. */
export async function greetFrontend(frontend: Frontend, stop: AbortSignal): Promise<void> {
  const alpn = frontend.mode === "grpc" ? ["h2"] : [];
  const { socket, facts } = await reachFrontend(frontend, { alpn, allowHalfOpen: false }, stop);
  try {
    // A Unix socket knows no certificates.
    if (facts === undefined) return;
    if (alpn.length > 0 && !(socket as TLSSocket).alpnProtocol)
      throw explainWrongPort("it offers no HTTP/2: ALPN negotiated nothing", facts());
    const end = await endWithin(socket, HANG_UP_MS);
    const alert = alertIn(end);
    if (alert !== undefined) throw explainRefused(`TLS alert "${alert}"`, facts(), end);
    if (end !== undefined) throw explainHangUp(facts(), end);
  } finally {
    socket.destroy();
  }
}

/** Undefined: it is still open then. */
function endWithin(socket: Socket, ms: number): Promise<unknown> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), ms);
    const over = (why: unknown) => {
      clearTimeout(timer);
      resolve(why);
    };
    socket.once("error", over).once("end", () => over("it hung up"));
    socket.once("close", () => over("it hung up")).resume();
  });
}

async function reachFrontend(
  frontend: Frontend,
  options: { readonly alpn: readonly string[]; readonly allowHalfOpen: boolean },
  stop: AbortSignal,
): Promise<{ readonly socket: Socket; readonly facts?: Secured["facts"] }> {
  const { allowHalfOpen } = options;
  const where = describeFrontend(frontend);
  if ("uds" in frontend) {
    const failed = (why: unknown): Error => socketUnreachable(where, why);
    return { socket: await connected(net.connect({ path: frontend.uds, allowHalfOpen }), "connect", stop, failed) };
  }
  const { host, port } = frontend;
  const context = secureContextOf(frontend.tls);
  // A TLS socket is half-open only when the socket below it is.
  const socket = await connected(net.connect({ host, port, allowHalfOpen }), "connect", stop, (why) =>
    explainConnect(where, why),
  );
  socket.setNoDelay(true);
  socket.setKeepAlive(true, TCP_KEEPALIVE_MS);
  const { servername: name = host } = frontend.tls;
  const credentials = (): Credentials => credentialsOf(frontend.tls);
  return await secure({ socket, where, name, context, alpn: options.alpn, credentials }, stop);
}

function credentialsOf(tls: FrontendTls): Credentials {
  const { certFile, caFile } = tls;
  return { self: "this client", set: certificatesOf(tls), certFile, caFile, admittedBy: "--server-ca-cert" };
}

/**
 * How long certificates in service stay so while their files do not fit: certificate and key are two files, and whoever
 * replaces them needs a moment between the two.
 */
const REPLACEMENT_MS = 60_000;

interface Ready {
  readonly context: SecureContext;
  readonly stamp: string;
  /** Time since which the files cannot be used. */
  brokenSince: number | undefined;
}

/** Contexts by the caller's own object, which lives as long as it dials with it. */
const made = new WeakMap<FrontendTls, Ready>();

/** Throws a DrawbridgeError that names the file at fault. */
export function secureContextOf(tls: FrontendTls, now: () => number = Date.now): SecureContext {
  const known = made.get(tls);
  // Before the files are read: what is replaced meanwhile is noticed the next time.
  const stamp = stampOf(tls);
  if (known?.stamp === stamp) return known.context;
  try {
    const context = createSecureContext({ ...certificatesOf(tls), minVersion: "TLSv1.2" });
    made.set(tls, { context, stamp, brokenSince: undefined });
    return context;
  } catch (reason) {
    if (known === undefined) throw reason;
    known.brokenSince ??= now();
    if (now() - known.brokenSince >= REPLACEMENT_MS) throw reason;
    return known.context;
  }
}

function stampOf({ caFile, certFile, keyFile }: FrontendTls): string {
  const stamps = [caFile, certFile, keyFile].map((file) => {
    const found = file === undefined || file === "" ? undefined : statSync(file, { throwIfNoEntry: false });
    return found === undefined ? "none" : `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`;
  });
  return stamps.join(", ");
}
