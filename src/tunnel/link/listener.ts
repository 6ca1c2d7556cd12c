/** Accepts gRPC streams: the agents' listener, and the gRPC kind of frontend. */
import net, { type Server, type Socket } from "node:net";
import tls, { type SecureContextOptions, type TLSSocket } from "node:tls";
import { type Connection, connectionOf } from "../../base/connections.js";
import { ShortLivedSet } from "../../base/short-lived.js";
import { encodeGrpcMessage, GrpcStatus } from "./grpc-status.js";
import { Http2ErrorCode } from "./h2/frames.js";
import type { Header } from "./h2/hpack.js";
import { Session } from "./h2/session.js";
import type { Stream } from "./h2/stream.js";
import { PeerTrust } from "./peer-trust.js";
import { transportFailure } from "./transport-failure.js";
import { keepAlive, SESSION_WINDOW_BYTES } from "./tuning.js";

export interface GrpcListenerOptions {
  /** The one method served, e.g. `/AgentService/Connect`; calls of others get UNIMPLEMENTED. */
  readonly method: string;
  /** Absent: HTTP/2 in the clear with prior knowledge, for Unix sockets. */
  readonly tls?: SecureContextOptions & { readonly requestCert: boolean };
  readonly keepaliveMs: number;
  /** Bytes that a peer may have sent on one stream before they are read. */
  readonly streamWindowBytes: number;
  /** Streams that one connection may have open at once. */
  readonly maxStreams: number;
  readonly onCall: (call: IncomingCall) => void;
  /** A peer with which TLS could not be agreed on, or whose certificate is not good any more. */
  readonly onTlsError?: (error: string, remote: string) => void;
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
  /** No new sessions; peers get a GOAWAY, and open streams may finish. */
  drain(): void;
  /** Ends everything at once. */
  destroy(): void;
}

/** A dead peer must not stay for the hour that upstream's keepalive flags default to; gRPC clients answer any ping. */
const LONGEST_PING_INTERVAL_MS = 30_000;

export function createGrpcListener(options: GrpcListenerOptions): GrpcListener {
  const sessions = new ShortLivedSet<Session>();
  const trust = options.tls?.requestCert ? new PeerTrust(options.tls) : undefined;
  const onSocket = (socket: Socket): void => {
    const tlsSocket = options.tls === undefined ? undefined : (socket as TLSSocket);
    if (tlsSocket !== undefined && tlsSocket.alpnProtocol !== "h2") {
      socket.destroy();
      return;
    }
    socket.setNoDelay(true);
    const session = new Session(socket, {
      isServer: true,
      streamWindowBytes: options.streamWindowBytes,
      maxStreams: options.maxStreams,
      sessionWindowBytes: SESSION_WINDOW_BYTES,
      onStream: (stream, fields) => {
        const refusal = tlsSocket && trust?.refusal(tlsSocket);
        if (refusal === undefined) answer(options, stream, fields, tlsSocket, connectionOf(socket));
        else {
          options.onTlsError?.(refusal, remoteOf(socket));
          // gRPC clients take this for a call that nobody has seen, and make it again on a new connection.
          stream.close(Http2ErrorCode.REFUSED_STREAM);
          session.close();
        }
      },
    });
    session.once("close", sessions.add(session));
    keepAlive(session, Math.min(options.keepaliveMs, LONGEST_PING_INTERVAL_MS), () => {});
  };
  const server =
    options.tls === undefined
      ? net.createServer(onSocket)
      : tls.createServer(
          { ...options.tls, rejectUnauthorized: options.tls.requestCert, ALPNProtocols: ["h2"] },
          onSocket,
        );
  const { onTlsError } = options;
  if (onTlsError !== undefined) {
    server.on("tlsClientError", (error: NodeJS.ErrnoException, socket: TLSSocket) => {
      const untrusted = socket.authorizationError as unknown as string | null | undefined;
      if (untrusted) onTlsError(`its certificate is not trusted: ${untrusted}`, remoteOf(socket));
      // A port scan or a load balancer's probe that hangs up at once is no error.
      else if (error.code !== "ECONNRESET") onTlsError(transportFailure(error), remoteOf(socket));
    });
  }
  return {
    server,
    setSecureContext(context) {
      trust?.update(context);
      (server as tls.Server).setSecureContext(context);
    },
    drain() {
      server.close();
      for (const session of sessions) session.close();
    },
    destroy() {
      server.close();
      for (const session of sessions) session.destroy();
    },
  };
}

function answer(
  { method, onCall }: GrpcListenerOptions,
  stream: Stream,
  fields: readonly Header[],
  tlsSocket: TLSSocket | undefined,
  connection: Connection | undefined,
): void {
  const metadata = (key: string): string[] => fields.filter(([name]) => name === key).map(([, value]) => value);
  const path = metadata(":path")[0];
  if (metadata(":method")[0] !== "POST" || path !== method) {
    endWithStatus(stream, GrpcStatus.UNIMPLEMENTED, `unknown method ${path}`);
    return;
  }
  connection?.requestReceived();
  const admitted = (): void => connection?.admitted();
  onCall({ stream, metadata, tlsSocket, remote: connection?.remote ?? UNKNOWN, admitted });
}

/** The remote address when the connection was accepted: a closed socket does not know it any more. */
function remoteOf(socket: Socket): string {
  return connectionOf(socket)?.remote ?? UNKNOWN;
}

const UNKNOWN = "unknown";

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
