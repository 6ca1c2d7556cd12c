/** Opens gRPC streams on a session of its own: the agent towards a server, a client towards a gRPC frontend. */
import type { Duplex } from "node:stream";
import type { Runtime } from "../../base/runtime.js";
import { decodeGrpcMessage, GrpcStatus, goCodeName } from "./grpc-status.js";
import { Http2ErrorCode } from "./h2/frames.js";
import { Session } from "./h2/session.js";
import type { Headers, Stream } from "./h2/stream.js";
import { LINK_WINDOW_BYTES, SESSION_WINDOW_BYTES } from "./tuning.js";

/** Types that other folders use without knowing HTTP/2. */
export { NOT_HTTP2 } from "./h2/frames.js";
export type { Session } from "./h2/session.js";
export type { Headers, Stream } from "./h2/stream.js";

export interface OpenSession {
  readonly session: Session;
  /** Starts a call on the session. */
  call(method: string, headers: Readonly<Record<string, string>>): Stream;
}

/**
 * Speaks HTTP/2 on a connected socket. `authority` is what the peer sees as `:authority`, `program` what it
 * sees as our user agent.
 */
export function openSession(
  socket: Duplex,
  authority: string,
  scheme: "http" | "https",
  program = "drawbridge",
  runtime?: Runtime,
): OpenSession {
  const session = new Session(socket, {
    isServer: false,
    runtime,
    streamWindowBytes: LINK_WINDOW_BYTES,
    sessionWindowBytes: SESSION_WINDOW_BYTES,
  });
  return {
    session,
    call: (method, headers) =>
      session.request([
        [":method", "POST"],
        [":scheme", scheme],
        [":path", method],
        [":authority", authority],
        ["content-type", "application/grpc"],
        ["user-agent", program],
        ["te", "trailers"],
        ...Object.entries(headers),
      ]),
  };
}

export const ENDED_BEFORE_HEADERS = "the stream ended before its headers came";

export class CallError extends Error {
  override readonly name = "CallError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Waits for the response headers, at most `deadlineMs`. A refusal by the server becomes a CallError with its text. The
 * stream is paused then: bytes may follow the headers at once, and are kept until the caller reads them.
 */
export function responseHeaders(stream: Stream, deadlineMs: number): Promise<Headers> {
  return new Promise((resolve, reject) => {
    const fail = (status: number, message: string): void => {
      cancelTimer();
      reject(new CallError(status, message));
      stream.close(Http2ErrorCode.CANCEL);
    };
    const late = (): void => fail(GrpcStatus.DEADLINE_EXCEEDED, `no response headers within ${deadlineMs} ms`);
    const cancelTimer = stream.session.runtime.after(deadlineMs, late, true);
    stream.once("headers", (headers) => {
      const status = headers["grpc-status"];
      if (headers[":status"] !== "200") fail(GrpcStatus.UNKNOWN, `unexpected HTTP status ${headers[":status"]}`);
      else if (status !== undefined && status !== "0") {
        const code = Number(status);
        const text = decodeGrpcMessage(String(headers["grpc-message"] ?? ""));
        fail(code, `rpc error: code = ${goCodeName(code)} desc = ${text}`);
      } else {
        cancelTimer();
        stream.pause();
        resolve(headers);
      }
    });
    stream.once("close", () => {
      const why = stream.session.failure;
      fail(GrpcStatus.UNAVAILABLE, why === undefined ? ENDED_BEFORE_HEADERS : `${ENDED_BEFORE_HEADERS}: ${why}`);
    });
  });
}
