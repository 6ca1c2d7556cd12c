/** A dial at an HTTP CONNECT door: the tunnel is the connection itself. */
import type { Socket } from "node:net";
import { step } from "./bounds.js";
import { type ConnectAnswer, parseConnectAnswer } from "./connect-answer.js";
import { badAnswer, DialRefusedError, frontendLost } from "./errors.js";
import { describeFrontend, type Frontend } from "./frontend.js";
import { connectFrontend } from "./transport.js";

/** A refusal's text ends with the connection; a server that keeps it open is not waited for. */
const BODY_WAIT_MS = 2_000;
const MAX_BODY_BYTES = 8 * 1024;

export async function dialConnect(
  frontend: Frontend,
  address: string,
  allowHalfOpen: boolean,
  stop: AbortSignal,
): Promise<Socket> {
  const socket = await connectFrontend(frontend, { alpn: [], allowHalfOpen }, stop);
  const where = describeFrontend(frontend);
  try {
    socket.write(`CONNECT ${address} HTTP/1.1\r\nHost: ${address}\r\nUser-Agent: drawbridge\r\n\r\n`, "latin1");
    const { answer, rest } = await readHead(socket, where, stop);
    if (answer.status !== 200) {
      const body = await readBody(socket, rest, answer.bodyBytes ?? MAX_BODY_BYTES, stop);
      throw new DialRefusedError(address, body.toString("utf8").trim(), answer.status);
    }
    // The endpoint's first bytes, when it spoke before the answer was read.
    if (rest.length > 0) socket.unshift(rest);
    return socket;
  } catch (reason) {
    socket.destroy();
    throw reason;
  }
}

type Head = { readonly answer: ConnectAnswer & { kind: "answer" }; readonly rest: Buffer };

function readHead(socket: Socket, where: string, stop: AbortSignal): Promise<Head> {
  return collect<Head>(socket, stop, (bytes, end, resolve, reject) => {
    const answer = parseConnectAnswer(bytes);
    if (answer?.kind === "answer") resolve({ answer, rest: bytes.subarray(answer.headBytes) });
    else if (answer !== undefined) reject(badAnswer(where, "it is not HTTP/1, so this may be a gRPC frontend"));
    else if (end !== undefined) reject(frontendLost(where, end));
  });
}

function readBody(socket: Socket, start: Buffer, limit: number, stop: AbortSignal): Promise<Buffer> {
  const late = AbortSignal.timeout(BODY_WAIT_MS);
  return collect<Buffer>(
    socket,
    stop,
    (bytes, end, resolve) => {
      if (end !== undefined || bytes.length >= limit || late.aborted) resolve(bytes.subarray(0, limit));
    },
    start,
    late,
  );
}

type Judge<T> = (
  bytes: Buffer,
  /** Why nothing more will come, once that is so. */
  end: unknown,
  resolve: (value: T) => void,
  reject: (reason: unknown) => void,
) => void;

/**
 * Gathers what arrives until `judge` settles. Reads by `readable`, which leaves the socket as it was found: not flowing,
 * so that its next owner misses nothing.
 */
function collect<T>(
  socket: Socket,
  stop: AbortSignal,
  judge: Judge<T>,
  start = EMPTY,
  nudge?: AbortSignal,
): Promise<T> {
  return step<T>(stop, (resolve, reject) => {
    let bytes = start;
    const onReadable = (): void => {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) return;
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      judge(bytes, undefined, resolve, reject);
    };
    const onError = (error: Error): void => judge(bytes, error, resolve, reject);
    const onEnd = (): void => judge(bytes, "it hung up without an answer", resolve, reject);
    const onNudge = (): void => judge(bytes, undefined, resolve, reject);
    socket.on("readable", onReadable).once("error", onError).once("end", onEnd).once("close", onEnd);
    nudge?.addEventListener("abort", onNudge);
    if (start.length > 0) judge(start, undefined, resolve, reject);
    if (socket.destroyed || socket.readableEnded) onEnd();
    else onReadable();
    return () => {
      socket.off("readable", onReadable).off("error", onError).off("end", onEnd).off("close", onEnd);
      nudge?.removeEventListener("abort", onNudge);
    };
  });
}

const EMPTY: Buffer = Buffer.alloc(0);
