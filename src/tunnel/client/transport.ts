/** The connection to a frontend, before anything is said on it. */

import { statSync } from "node:fs";
import type { Socket } from "node:net";
import { createSecureContext, type SecureContext } from "node:tls";
import { type Runtime, systemRuntime } from "../../base/runtime.js";
import { connected } from "../outgoing/connected.js";
import { connectTimeout, DialFailure, explainConnect, explainWrongPort } from "../outgoing/explain.js";
import type { Credentials } from "../outgoing/facts.js";
import { secure } from "../outgoing/secure.js";
import { BY_NAME } from "../resolver/lookup.js";
import { type FrontendTrust, socketUnreachable } from "./errors.js";
import { certificatesOf, describeFrontend, type Frontend, type FrontendTls } from "./frontend.js";

/** A dead server is noticed although nothing is sent. */
const TCP_KEEPALIVE_MS = 15_000;

/** How long a frontend may take to accept a connection: behind its address another server may be quicker. */
const ACCEPT_MS = 3_000;

/** A connection to a frontend. */
export interface Reached {
  readonly socket: Socket;
  /** Undefined at a Unix socket, which knows no certificates. */
  readonly tls?: FrontendTrust;
}

export async function reachFrontend(
  frontend: Frontend,
  options: {
    readonly alpn: readonly string[];
    readonly allowHalfOpen: boolean;
    readonly acceptMs?: number;
    readonly runtime?: Runtime | undefined;
  },
  stop: AbortSignal,
): Promise<Reached> {
  const { allowHalfOpen, acceptMs = ACCEPT_MS, runtime = systemRuntime } = options;
  const where = describeFrontend(frontend);
  if ("uds" in frontend) {
    const failed = (why: unknown): Error => socketUnreachable(where, why);
    return { socket: await connected(runtime.connect({ path: frontend.uds, allowHalfOpen }), "connect", stop, failed) };
  }
  const { host, port } = frontend;
  const { context, set } = secureContextOf(frontend.tls);
  // A TLS socket is half-open only when the socket below it is.
  const connecting = runtime.connect({ ...BY_NAME, host, port, allowHalfOpen });
  const socket = await accepted(connecting, where, acceptMs, stop, runtime);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, TCP_KEEPALIVE_MS);
  const { servername: name = host } = frontend.tls;
  const credentials = (): Credentials => credentialsOf(frontend, set);
  const { alpn } = options;
  const { socket: secured, facts } = await secure({ socket, where, name, context, alpn, credentials }, stop);
  if (alpn.length > 0 && !secured.alpnProtocol) {
    secured.destroy();
    throw explainWrongPort("it did not take h2 (HTTP/2), which was offered to it by ALPN", facts());
  }
  const securedAt = runtime.now();
  return { socket: secured, tls: { facts, age: () => runtime.now() - securedAt } };
}

async function accepted(
  socket: Socket,
  where: string,
  ms: number,
  stop: AbortSignal,
  runtime: Runtime,
): Promise<Socket> {
  const cancelTimer = runtime.after(ms, () => socket.destroy(connectTimeout(where, ms)), true);
  try {
    return await connected(socket, "connect", stop, (why) =>
      why instanceof DialFailure ? why : explainConnect(where, why),
    );
  } finally {
    cancelTimer();
  }
}

const MISTAKEN_FOR = "a frontend of another protocol, the agents' port, or another program's";

/** Of the files as they were: by the time that something fails they may be gone, or others. */
function credentialsOf(
  { tls: { certFile, caFile }, self = "this client" }: Exclude<Frontend, { uds: string }>,
  set: Credentials["set"],
): Credentials {
  return { self, set, certFile, caFile, admittedBy: "--server-ca-cert", mistakenFor: MISTAKEN_FOR };
}

/**
 * How long certificates in service stay so while their files do not fit: certificate and key are two files, and whoever
 * replaces them needs a moment between the two.
 */
const REPLACEMENT_MS = 60_000;

interface Ready {
  readonly context: SecureContext;
  /** What is in it. */
  readonly set: Credentials["set"];
  readonly stamp: string;
  /** Time, by performance.now(), since which the files cannot be used. */
  brokenSince: number | undefined;
}

/** Contexts by the caller's own object, which lives as long as it dials with it. */
const made = new WeakMap<FrontendTls, Ready>();

/** Throws a DrawbridgeError that names the file at fault. */
export function secureContextOf(tls: FrontendTls, now: () => number = () => performance.now()): Ready {
  const known = made.get(tls);
  // Before the files are read: what is replaced meanwhile is noticed the next time.
  const stamp = stampOf(tls);
  if (known?.stamp === stamp) return known;
  try {
    const set = certificatesOf(tls);
    const context = createSecureContext({ ...set, minVersion: "TLSv1.2" });
    const ready = { context, set, stamp, brokenSince: undefined };
    made.set(tls, ready);
    return ready;
  } catch (reason) {
    if (known === undefined) throw reason;
    known.brokenSince ??= now();
    if (now() - known.brokenSince >= REPLACEMENT_MS) throw reason;
    return known;
  }
}

function stampOf({ caFile, certFile, keyFile }: FrontendTls): string {
  const stamps = [caFile, certFile, keyFile].map((file) => {
    const found = file === undefined || file === "" ? undefined : statSync(file, { throwIfNoEntry: false });
    return found === undefined ? "none" : `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`;
  });
  return stamps.join(", ");
}
