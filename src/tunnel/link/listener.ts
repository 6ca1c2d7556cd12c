/** Accepts gRPC streams: the agents' listener, and the gRPC kind of frontend. */
import net, { type Server, type Socket } from "node:net";
import type { SecureContextOptions, TLSSocket } from "node:tls";
import { type Connection, connectionOf } from "../../base/connections.js";
import type { Runtime } from "../../base/runtime.js";
import { ShortLivedSet } from "../../base/short-lived.js";
import { plainText } from "../../base/text.js";
import { encodeGrpcMessage, GrpcStatus } from "./grpc-status.js";
import { CONNECT_INSTEAD, Http2ErrorCode, NOT_HTTP2, TLS_INSTEAD } from "./h2/frames.js";
import type { Header } from "./h2/hpack.js";
import { Session } from "./h2/session.js";
import type { Stream } from "./h2/stream.js";
import type { Refusal } from "./peer-trust.js";
import { createTlsListener, type PeerRefusal, remoteOf } from "./tls-listener.js";
import { keepAlive, SESSION_WINDOW_BYTES } from "./tuning.js";

export interface GrpcListenerOptions {
  /** Default: the system's. */
  readonly runtime?: Runtime | undefined;
  /** The one method served, e.g. `/AgentService/Connect`; calls of others get UNIMPLEMENTED. */
  readonly method: string;
  /** Who calls which other method by mistake, and where it belongs: the rest of a sentence that begins with `it`. */
  readonly misdirectedMethods: Readonly<Record<string, string>>;
  /** Absent: HTTP/2 in the clear with prior knowledge, for Unix sockets. With a CA, peers have to show a certificate. */
  readonly tls?: SecureContextOptions;
  readonly keepaliveMs: number;
  /** Bytes that a peer may have sent on one stream before they are read. */
  readonly streamWindowBytes: number;
  /** Streams that one connection may have open at once. */
  readonly maxStreams: number;
  readonly onCall: (call: IncomingCall) => void;
  /** While it is true, calls are refused as ones that nobody has seen. */
  readonly refusesCalls?: () => boolean;
  readonly onRefused: (peer: PeerRefusal) => void;
}

/** A call whose headers have arrived; nothing was answered yet. */
export interface IncomingCall {
  readonly stream: Stream;
  /** Every value of a metadata key, in order. */
  metadata(key: string): string[];
  /** The TLS socket, for certificates; undefined in the clear. */
  readonly tlsSocket: TLSSocket | undefined;
  readonly remote: string;
  /** Its sender is known and may call: the connection is no longer one that is closed when there are too many. */
  admitted(): void;
}

export interface GrpcListener {
  readonly server: Server;
  /** For connections from now on; calls on older ones are refused if their peers were verified against other authorities. */
  setSecureContext(options: SecureContextOptions): void;
  /** No new sessions; peers get a GOAWAY once they have called, and open streams may finish. */
  drain(): void;
  /** Ends everything at once. */
  destroy(): void;
}

/** A dead peer must not stay for the hour that upstream's keepalive flags default to; gRPC clients answer any ping. */
const LONGEST_PING_INTERVAL_MS = 30_000;

export function createGrpcListener(options: GrpcListenerOptions): GrpcListener {
  const sessions = new ShortLivedSet<Session>();
  const { onRefused } = options;
  let draining = false;
  const onSocket = (socket: Socket): void => {
    const tlsSocket = options.tls === undefined ? undefined : (socket as TLSSocket);
    socket.setNoDelay(true);
    const session = new Session(socket, {
      isServer: true,
      runtime: options.runtime,
      streamWindowBytes: options.streamWindowBytes,
      maxStreams: options.maxStreams,
      sessionWindowBytes: SESSION_WINDOW_BYTES,
      onStream: (stream, fields) => {
        const refusal = tlsSocket && tlsListener?.trust?.refusal(tlsSocket);
        if (refusal !== undefined) onRefused({ remote: remoteOf(socket), ...refusal });
        if (refusal !== undefined || options.refusesCalls?.()) {
          // gRPC clients take this for a call that nobody has seen, and make it again on a new connection.
          stream.close(Http2ErrorCode.REFUSED_STREAM);
          session.close();
          return;
        }
        answer(options, stream, fields, tlsSocket, connectionOf(socket));
        if (draining) session.close();
      },
    });
    session.once("close", sessions.add(session));
    session.once("close", () => {
      const refusal = strangeProtocol(session.failure, tlsSocket !== undefined);
      if (refusal !== undefined) onRefused({ remote: remoteOf(socket), ...refusal });
    });
    keepAlive(session, Math.min(options.keepaliveMs, LONGEST_PING_INTERVAL_MS), () => {});
  };
  const tlsListener =
    options.tls && createTlsListener({ context: options.tls, protocol: "h2", onPeer: onSocket, onRefused });
  const server: Server = tlsListener?.server ?? net.createServer(onSocket);
  return {
    server,
    setSecureContext: (context) => tlsListener?.setSecureContext(context),
    drain() {
      draining = true;
      server.close();
      for (const session of sessions) {
        // The first call of a new connection may be on its way.
        if (connectionOf(session.socket as Socket)?.isPending !== true) session.close();
      }
    },
    destroy() {
      server.close();
      for (const session of sessions) session.destroy();
    },
  };
}

function answer(
  { method, misdirectedMethods, onCall, onRefused }: GrpcListenerOptions,
  stream: Stream,
  fields: readonly Header[],
  tlsSocket: TLSSocket | undefined,
  connection: Connection | undefined,
): void {
  const metadata = (key: string): string[] => fields.filter(([name]) => name === key).map(([, value]) => value);
  const path = metadata(":path")[0];
  const remote = connection?.remote ?? "unknown";
  if (metadata(":method")[0] !== "POST" || path !== method) {
    const called = `it called ${JSON.stringify(plainText(path ?? "", LONGEST_PATH))}, and only ${method} is served here`;
    const misdirected =
      path === undefined || !Object.hasOwn(misdirectedMethods, path) ? undefined : misdirectedMethods[path];
    onRefused({ remote, code: "DB_PEER_WRONG_PORT", reason: misdirected === undefined ? called : `it ${misdirected}` });
    endWithStatus(stream, GrpcStatus.UNIMPLEMENTED, `unknown method ${path}`);
    return;
  }
  connection?.requestReceived();
  const admitted = (): void => connection?.admitted();
  onCall({ stream, metadata, tlsSocket, remote, admitted });
}

/** Of a method's name that a stranger chose. */
const LONGEST_PATH = 100;

/** By what the session failed with. */
function strangeProtocol(failure: string | undefined, isTls: boolean): Refusal | undefined {
  if (failure === TLS_INSTEAD) return strangeTls(isTls);
  if (failure !== NOT_HTTP2 && failure !== CONNECT_INSTEAD) return undefined;
  const reason =
    failure === CONNECT_INSTEAD
      ? "it asked by HTTP CONNECT, and gRPC is spoken here; callers that use HTTP CONNECT need an http-connect frontend"
      : "it does not speak HTTP/2, as gRPC does";
  return { code: "DB_PEER_WRONG_PORT", reason };
}

/** A peer began a TLS handshake where its request was expected; `isTls`: inside the TLS of the listener itself. */
export function strangeTls(isTls: boolean): Refusal {
  const reason = isTls
    ? "it speaks TLS inside TLS: something on its way, or it itself, adds a second layer, and one is expected here"
    : "it speaks TLS, and this frontend is in the clear";
  return { code: "DB_PEER_WRONG_PORT", reason };
}

const CONTENT_TYPE = { "content-type": "application/grpc" } as const;

/** A trailers-only answer. */
export function endWithStatus(stream: Stream, status: number, message: string): void {
  if (stream.closed || stream.headersSent) return;
  stream.end({ ...CONTENT_TYPE, "grpc-status": String(status), "grpc-message": encodeGrpcMessage(message) });
}

/** Sends the response headers; the call is on from here. */
export function acceptCall(stream: Stream, headers: Record<string, string> = {}): void {
  if (!stream.closed) stream.respond({ ...CONTENT_TYPE, ...headers });
}
