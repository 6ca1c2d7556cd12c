/**
 * The one place where this process opens TLS to a server. Node is asked to finish the handshake whatever it thinks of the
 * certificate, because it tells nothing about one that it refuses; its verdict is asked for here, before anybody gets
 * the socket and before a byte is written to it.
 */
import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import tls, { type SecureContext, type TLSSocket } from "node:tls";
import { linger } from "../../base/linger.js";
import { connected } from "./connected.js";
import { explainHandshake, explainPeer } from "./explain.js";
import { type Credentials, type DialFacts, dialFacts } from "./facts.js";

export interface SecureDial {
  /** A connection to the server. Taken over: it is destroyed when this fails. */
  readonly socket: Duplex;
  /** `host:port`, as it was configured. */
  readonly where: string;
  /** The name or address that the server's certificate has to be for. */
  readonly name: string;
  readonly context: SecureContext;
  readonly alpn?: readonly string[];
  /** The server is taken whatever its certificate is: whoever set this up said so, as kubeconfigs can. */
  readonly isUnverified?: boolean;
  /** Asked for only when something failed. */
  readonly credentials: () => Credentials;
}

export interface Secured {
  readonly socket: TLSSocket;
  /** For whatever goes wrong on it later: what both sides have shown. */
  readonly facts: () => DialFacts;
}

/** Rejects with a DialFailure, or with the reason of `stop`. */
export async function secure(dial: SecureDial, stop: AbortSignal): Promise<Secured> {
  const { socket: plain, where, name, context, alpn = [], credentials, isUnverified = false } = dial;
  const socket = tls.connect({
    socket: plain,
    secureContext: context,
    host: name,
    // An address is checked against the certificate's addresses; only names are sent as SNI.
    ...(isIP(name) === 0 ? { servername: name } : {}),
    ...(alpn.length === 0 ? {} : { ALPNProtocols: [...alpn] }),
    rejectUnauthorized: false,
  });
  let peer: readonly X509Certificate[] = [];
  const facts = (): DialFacts => dialFacts({ where, name, peer }, credentials());
  try {
    await connected(socket, "secureConnect", stop, (why) => explainHandshake(why, facts()));
    peer = shownBy(socket);
  } catch (reason) {
    socket.destroy();
    plain.destroy();
    throw reason;
  }
  if (socket.authorized || isUnverified) return { socket, facts };
  // Node sends no alert. With the end of the handshake, which still waits to be sent, the server sees who does not trust it.
  socket.once("close", () => plain.destroy()).end();
  linger(socket, LEAVE_MS);
  // Undocumented only in its type: the name of OpenSSL's or Node's objection.
  throw explainPeer(String(socket.authorizationError), facts());
}

/** How long a server that is not trusted has to take the end of the handshake. */
const LEAVE_MS = 1_000;

const LONGEST_CHAIN = 8;

function shownBy(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let each = socket.getPeerX509Certificate();
  while (each !== undefined && chain.length < LONGEST_CHAIN) {
    chain.push(each);
    each = each.subject === each.issuer ? undefined : each.issuerCertificate;
  }
  return chain;
}
