/** Opens one gRPC stream on a session of its own: the agent towards a server, a client towards a gRPC frontend. */
import http2, {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
} from "node:http2";
import type { Duplex } from "node:stream";
import { decodeGrpcMessage, GrpcStatus, goCodeName } from "./grpc-status.js";
import { LINK_WINDOW_BYTES, SESSION_MEMORY_MB, SESSION_WINDOW_BYTES } from "./tuning.js";

export interface OpenSession {
  readonly session: ClientHttp2Session;
  /** Starts a call on the session. */
  call(method: string, headers: Record<string, string | string[]>): ClientHttp2Stream;
}

/** Speaks HTTP/2 on a connected socket. `authority` is what the peer sees as `:authority`. */
export function openSession(socket: Duplex, authority: string, scheme: "http" | "https"): OpenSession {
  const session = http2.connect(`${scheme}://localhost`, {
    createConnection: () => socket,
    settings: { initialWindowSize: LINK_WINDOW_BYTES, enablePush: false },
    maxSessionMemory: SESSION_MEMORY_MB,
    maxOutstandingPings: 100,
  });
  session.on("error", () => {});
  session.once("connect", () => session.setLocalWindowSize(SESSION_WINDOW_BYTES));
  return {
    session,
    call: (method, headers) =>
      session.request(
        {
          ":method": "POST",
          ":scheme": scheme,
          ":authority": authority,
          ":path": method,
          te: "trailers",
          "content-type": "application/grpc",
          "user-agent": "drawbridge",
          ...headers,
        },
        { endStream: false },
      ),
  };
}

export class CallError extends Error {
  override readonly name = "CallError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Waits for the response headers, at most `deadlineMs`. A refusal by the server becomes a CallError with its text. */
export function responseHeaders(stream: ClientHttp2Stream, deadlineMs: number): Promise<IncomingHttpHeaders> {
  return new Promise((resolve, reject) => {
    const fail = (status: number, message: string): void => {
      clearTimeout(timer);
      reject(new CallError(status, message));
      stream.close(constants.NGHTTP2_CANCEL);
    };
    const timer = setTimeout(
      () => fail(GrpcStatus.DEADLINE_EXCEEDED, `no response headers within ${deadlineMs} ms`),
      deadlineMs,
    );
    stream.once("response", (headers) => {
      const status = headers["grpc-status"];
      if (headers[":status"] !== 200) fail(GrpcStatus.UNKNOWN, `unexpected HTTP status ${headers[":status"]}`);
      else if (status !== undefined && status !== "0") {
        const code = Number(status);
        const text = decodeGrpcMessage(String(headers["grpc-message"] ?? ""));
        fail(code, `rpc error: code = ${goCodeName(code)} desc = ${text}`);
      } else {
        clearTimeout(timer);
        resolve(headers);
      }
    });
    stream.once("error", (error) => fail(GrpcStatus.UNAVAILABLE, error.message));
    stream.once("close", () => fail(GrpcStatus.UNAVAILABLE, "the stream ended before its headers came"));
  });
}
