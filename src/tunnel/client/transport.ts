/** The connection to a frontend, before anything is said on it. */

import { statSync } from "node:fs";
import net, { type Socket } from "node:net";
import { createSecureContext, type SecureContext } from "node:tls";
import { connected } from "../outgoing/connected.js";
import { explainConnect } from "../outgoing/explain.js";
import type { Credentials } from "../outgoing/facts.js";
import { secure } from "../outgoing/secure.js";
import { frontendUnreachable } from "./errors.js";
import { certificatesOf, describeFrontend, type Frontend, type FrontendTls } from "./frontend.js";

/** A dead server is noticed although nothing is sent. */
const TCP_KEEPALIVE_MS = 15_000;

export async function connectFrontend(
  frontend: Frontend,
  options: { readonly alpn: readonly string[]; readonly allowHalfOpen: boolean },
  stop: AbortSignal,
): Promise<Socket> {
  const { allowHalfOpen } = options;
  const where = describeFrontend(frontend);
  if ("uds" in frontend) {
    const failed = (why: unknown): Error => frontendUnreachable(where, why);
    return await connected(net.connect({ path: frontend.uds, allowHalfOpen }), "connect", stop, failed);
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
  return (await secure({ socket, where, name, context, alpn: options.alpn, credentials }, stop)).socket;
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
