/** Accepts gRPC streams: the agents' door, and the gRPC kind of frontend. */
import net, { type Server, type Socket } from "node:net";
import tls, { type SecureContextOptions, type TLSSocket } from "node:tls";
import { PassingSet } from "../memory/passing.js";
import { encodeGrpcMessage, GrpcStatus } from "./grpc-status.js";
import type { Header } from "./h2/hpack.js";
import { Session } from "./h2/session.js";
import type { Stream } from "./h2/stream.js";
import { keepAlive } from "./keepalive.js";
import { transportFailure } from "./transport-failure.js";
import { SESSION_WINDOW_BYTES } from "./tuning.js";

export interface GrpcListenerOptions {
  /** The one method served, e.g. `/AgentService/Connect`; calls of others get UNIMPLEMENTED. */
  readonly method: string;
  /** Absent: HTTP/2 in the clear with prior knowledge, for Unix sockets. */
  readonly tls?: SecureContextOptions & { readonly requestCert: boolean };
  readonly keepaliveMs: number;
  /** What a peer may have sent on one stream before it is read. */
  readonly streamWindowBytes: number;
  readonly onCall: (call: IncomingCall) => void;
  /** A peer with which TLS could not be agreed on. */
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
}

export interface GrpcListener {
  readonly server: Server & { setSecureContext?(options: SecureContextOptions): void };
  /** No new sessions; peers are asked to go away, streams under way may finish. */
  drain(): void;
  /** Ends everything at once. */
  destroy(): void;
}

/** A dead peer must not stay for the hour that upstream's keepalive flags default to; gRPC clients answer any ping. */
const LONGEST_PING_INTERVAL_MS = 30_000;

export function createGrpcListener(options: GrpcListenerOptions): GrpcListener {
  const sessions = new PassingSet<Session>();
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
      sessionWindowBytes: SESSION_WINDOW_BYTES,
      onStream: (stream, fields) => answer(options, stream, fields, tlsSocket, socket),
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
      // A port scan or a load balancer's probe that hangs up without a word is nobody's fault.
      else if (error.code !== "ECONNRESET") onTlsError(transportFailure(error), remoteOf(socket));
    });
  }
  return {
    server,
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
  socket: Socket,
): void {
  const metadata = (key: string): string[] => fields.filter(([name]) => name === key).map(([, value]) => value);
  const path = metadata(":path")[0];
  if (metadata(":method")[0] !== "POST" || path !== method) {
    endWithStatus(stream, GrpcStatus.UNIMPLEMENTED, `unknown method ${path}`);
    return;
  }
  onCall({ stream, metadata, tlsSocket, remote: remoteOf(socket) });
}

function remoteOf({ remoteAddress, remotePort }: Socket): string {
  return remoteAddress === undefined ? "unix" : `${remoteAddress}:${remotePort}`;
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
