/** Accepts gRPC streams: the agents' door, and the gRPC kind of frontend. */
import http2, { type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Server, Socket } from "node:net";
import type { SecureContextOptions, TLSSocket } from "node:tls";
import { encodeGrpcMessage, GrpcStatus } from "./grpc-status.js";
import { keepAlive } from "./keepalive.js";
import { SESSION_MEMORY_MB, SESSION_WINDOW_BYTES } from "./tuning.js";

export interface GrpcListenerOptions {
  /** The one method served, e.g. `/AgentService/Connect`; calls of others get UNIMPLEMENTED. */
  readonly method: string;
  /** Absent: HTTP/2 in the clear with prior knowledge, for Unix sockets. */
  readonly tls?: SecureContextOptions & { readonly requestCert: boolean };
  readonly keepaliveMs: number;
  /** How long an answer to a ping may take; gRPC's 20 s unless told. */
  readonly pingTimeoutMs?: number | undefined;
  /** What a peer may have sent on one stream before it is read. */
  readonly streamWindowBytes: number;
  readonly onCall: (call: IncomingCall) => void;
  /** A session ended that never opened a stream although it sent requests. */
  readonly onUnreadableCaller?: () => void;
}

/** A call whose headers have arrived; nothing was answered yet. */
export interface IncomingCall {
  readonly stream: ServerHttp2Stream;
  /** Every value of a metadata key, in order; Node's own header object joins or drops repeated ones. */
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

/**
 * A dead peer must not stay for the hour that upstream's keepalive flags default to, and Node's HTTP/2 neither ends nor
 * reads a session whose peer sent garbage: only a ping without an answer tells. gRPC clients answer pings at any rate.
 */
const LONGEST_PING_INTERVAL_MS = 30_000;

/** Preface, a SETTINGS frame and its acknowledgement: less than this and no request was sent. */
const BYTES_OF_A_REQUEST = 24 + 9 + 36 + 9 + 40;

export function createGrpcListener(options: GrpcListenerOptions): GrpcListener {
  const http2Options = {
    settings: {
      initialWindowSize: options.streamWindowBytes,
      maxConcurrentStreams: 0xffff_ffff,
      enableConnectProtocol: false,
    },
    maxSessionMemory: SESSION_MEMORY_MB,
    // gRPC pings and settings changes are routine; Node's default cap of 10 unanswered ones is not meant for them.
    maxOutstandingPings: 100,
  };
  const server =
    options.tls === undefined
      ? http2.createServer(http2Options)
      : http2.createSecureServer({ ...http2Options, ...options.tls, rejectUnauthorized: options.tls.requestCert });
  const sessions = new Set<ServerHttp2Session>();
  // A session's own `socket` is a proxy that throws once the session is over; this is the real one behind the next.
  let accepted: Socket | undefined;
  server.prependListener(options.tls === undefined ? "connection" : "secureConnection", (socket: Socket) => {
    accepted = socket;
  });

  server.on("session", (session) => {
    const socket = accepted!;
    let streams = 0;
    sessions.add(session);
    session.setLocalWindowSize(SESSION_WINDOW_BYTES);
    keepAlive(session, Math.min(options.keepaliveMs, LONGEST_PING_INTERVAL_MS), () => {}, options.pingTimeoutMs);
    session.on("stream", () => streams++);
    // A peer's broken session ends that session only.
    session.on("error", () => session.destroy());
    socket.once("close", () => {
      if (streams === 0 && socket.bytesRead > BYTES_OF_A_REQUEST) options.onUnreadableCaller?.();
    });
    session.once("close", () => sessions.delete(session));
  });
  server.on("sessionError", () => {});
  server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
    // Without a listener a reset before the owner has one would end the process.
    stream.on("error", () => {});
    if (headers[":method"] !== "POST" || headers[":path"] !== options.method) {
      endWithStatus(stream, GrpcStatus.UNIMPLEMENTED, `unknown method ${String(headers[":path"])}`);
      return;
    }
    const socket = stream.session?.socket as TLSSocket | undefined;
    options.onCall({
      stream,
      metadata: (key) => raw.filter((_value, index) => index % 2 === 1 && raw[index - 1] === key),
      tlsSocket: options.tls === undefined ? undefined : socket,
      remote: socket?.remoteAddress === undefined ? "unix" : `${socket.remoteAddress}:${socket.remotePort}`,
    });
  });

  return {
    server: server as GrpcListener["server"],
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

const RESPONSE_HEADERS = { ":status": 200, "content-type": "application/grpc" } as const;

/** A trailers-only answer. */
export function endWithStatus(stream: ServerHttp2Stream, status: number, message: string): void {
  if (stream.destroyed || stream.closed || stream.headersSent) return;
  stream.respond(
    { ...RESPONSE_HEADERS, "grpc-status": String(status), "grpc-message": encodeGrpcMessage(message) },
    { endStream: true },
  );
}

/** Sends the response headers and arranges for trailers with status 0, unless the owner ends it otherwise. */
export function acceptCall(stream: ServerHttp2Stream, headers: Record<string, string> = {}): void {
  stream.respond({ ...RESPONSE_HEADERS, ...headers }, { waitForTrailers: true });
  stream.on("wantTrailers", () => {
    if (stream.listenerCount("wantTrailers") === 1) stream.sendTrailers({ "grpc-status": "0", "grpc-message": "" });
  });
}
