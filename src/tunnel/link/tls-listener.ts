/**
 * Accepts TLS connections of agents and callers: a peer is admitted only after its certificate was judged. A refused one is
 * told why in the protocol it asked for, and not a byte that it sends is interpreted.
 */
import { constants } from "node:crypto";
import type { Socket } from "node:net";
import tls, { type SecureContextOptions, type Server, type TLSSocket } from "node:tls";
import { systemClock } from "../../base/clock.js";
import { connectionOf } from "../../base/connections.js";
import { linger } from "../../base/linger.js";
import { RateLimit } from "../../base/rate-limit.js";
import type { RefusedPeer } from "../events/facts.js";
import { forbidden } from "../wire/connect.js";
import { failedHandshake, OwnCertificate } from "./failed-handshake.js";
import { onFirstRecord } from "./first-record.js";
import { refusalFrames } from "./h2/frames.js";
import { PeerTrust, type Refusal } from "./peer-trust.js";

/** A refused peer without the name of the listener. */
export type PeerRefusal = Omit<RefusedPeer, "listener">;

export interface TlsListenerOptions {
  /** With a CA, every peer has to show a certificate of it. */
  readonly context: SecureContextOptions;
  readonly protocol: "h2" | "http/1.1";
  readonly allowHalfOpen?: boolean;
  readonly onPeer: (socket: TLSSocket) => void;
  readonly onRefused: (peer: PeerRefusal) => void;
}

export interface TlsListener {
  readonly server: Server;
  /** Judges requests on connections from before; undefined where no certificate is asked for. */
  readonly trust: PeerTrust | undefined;
  /** For connections from now on. */
  setSecureContext(context: SecureContextOptions): void;
}

/** How long a peer has to read why it was refused. */
const TELL_MS = 1_000;
/** After it gRPC clients of Go dial again at once, a hundred times a second if they are told at once. */
const PAUSE_MS = 250;
/** So many at once; further ones are not told. */
const MOST_TOLD = 64;
/** Whoever has a certificate may come and go by the thousand; a certificate costs some tenths of a millisecond to describe. */
const NAMED_PER_SECOND = 8;
/** Since it was accepted: whoever leaves later has waited for something else than this server's certificate. */
const RIGHT_AFTER_MS = 5_000;

export function createTlsListener({
  context,
  protocol,
  allowHalfOpen = false,
  onPeer,
  onRefused,
}: TlsListenerOptions): TlsListener {
  const trust = context.ca === undefined ? undefined : new PeerTrust(context);
  let { cert } = context;
  let shown: OwnCertificate | undefined;
  const own = (): OwnCertificate => {
    shown ??= new OwnCertificate(String(cert));
    return shown;
  };
  const naming = new RateLimit(systemClock, NAMED_PER_SECOND, 2 * NAMED_PER_SECOND);
  let told = 0;
  const tell = (socket: TLSSocket, reason: string): void => {
    if (told >= MOST_TOLD) {
      socket.destroy();
      return;
    }
    told++;
    socket.once("close", () => told--);
    if (socket.alpnProtocol !== "h2") {
      socket.end(forbidden(reason));
      linger(socket, TELL_MS);
      return;
    }
    const pause = setTimeout(() => socket.end(refusalFrames(reason)), PAUSE_MS).unref();
    socket.once("close", () => clearTimeout(pause));
    linger(socket, PAUSE_MS + TELL_MS);
  };
  /** Clients of Node judge a server's certificate only after the handshake, and send no alert: they hang up. */
  function onHangUp(this: TLSSocket): void {
    this.off("end", onHangUp).off("error", onHangUp);
    const age = performance.now() - (connectionOf(this)?.acceptedAt ?? Number.NEGATIVE_INFINITY);
    if (this.bytesRead > 0 || this.writableEnded || !server.listening || age > RIGHT_AFTER_MS) return;
    if (!naming.take()) return;
    const { words, remedy } = own().timeProblem() ?? {};
    const distrusted = words === undefined ? own().words : `${own().words}, ${words}`;
    const reason = `it hung up right after TLS without a word, as clients do that do not trust ${distrusted}`;
    const refusal = { code: "DB_PEER_HUNG_UP", reason, ...(remedy !== undefined && { remedy }) } as const;
    onRefused({ remote: remoteOf(this), ...refusal, ...trust?.shownBy(this) });
  }
  const server = tls.createServer(
    {
      ...strict(context),
      allowHalfOpen,
      ALPNProtocols: [protocol],
      requestCert: trust !== undefined,
      // OpenSSL would drop the certificate before anybody could say whose it was.
      rejectUnauthorized: false,
    },
    (socket) => {
      const refusal = trust?.verdict(socket) ?? unexpected(socket, protocol);
      if (refusal === undefined) {
        if (trust !== undefined) {
          connectionOf(socket)?.verified();
          socket.on("end", onHangUp).on("error", onHangUp);
        }
        onPeer(socket);
        return;
      }
      socket.on("error", () => {});
      onRefused({ remote: remoteOf(socket), ...refusal });
      tell(socket, refusal.reason);
    },
  );
  // Node's own listener makes the TLS session of a connection.
  const [startTls] = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => onFirstRecord(socket, () => startTls?.call(server, socket)));
  server.on("tlsClientError", (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    const refusal = failedHandshake(error, SPOKEN[protocol], own);
    if (refusal !== undefined) onRefused({ remote: remoteOf(socket), ...refusal });
  });
  return {
    server,
    trust,
    setSecureContext(next) {
      trust?.update(next);
      ({ cert } = next);
      shown = undefined;
      server.setSecureContext(strict(next));
    },
  };
}

/**
 * A session that is resumed is not judged again, and after a renegotiation (TLS 1.2) the peer would be
 * another than the one that was judged.
 */
function strict(context: SecureContextOptions): SecureContextOptions {
  return { ...context, secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION };
}

function unexpected({ alpnProtocol }: TLSSocket, protocol: TlsListenerOptions["protocol"]): Refusal | undefined {
  // Callers of HTTP CONNECT need not name their protocol.
  if (protocol !== "h2" || alpnProtocol === "h2") return undefined;
  return {
    code: "DB_PEER_WRONG_PORT",
    reason: "it did not ask for HTTP/2: it offered no protocol by ALPN, and this listener takes only h2",
  };
}

const SPOKEN = { h2: "h2 (HTTP/2)", "http/1.1": "http/1.1 (HTTP CONNECT)" } as const;

/** The remote address when the connection was accepted: a closed socket does not know it any more. */
export function remoteOf(socket: Socket): string {
  return connectionOf(socket)?.remote ?? "unknown";
}
