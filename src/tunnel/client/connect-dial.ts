/** A dial at an HTTP CONNECT frontend: the tunnel is the connection itself. */
import { isIPv6, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { deadlineIn } from "../../base/clock.js";
import { type Runtime, systemRuntime } from "../../base/runtime.js";
import { step } from "../outgoing/connected.js";
import { explainForbidden } from "../outgoing/explain.js";
import { ALERT_HEADER, type ConnectAnswer, dialIdHeader, parseConnectAnswer } from "../wire/connect.js";
import { badAnswer, DialRefusedError, type InnerDialOptions, unanswered } from "./errors.js";
import { describeFrontend, type Frontend, parseTarget } from "./frontend.js";
import { reachFrontend } from "./transport.js";

const MAX_BODY_BYTES = 8 * 1024;

/** `name` undefined: the address's own host. */
export interface ConnectDial
  extends Pick<InnerDialOptions, "name" | "allowHalfOpen" | "onFrontend" | "dialId" | "runtime"> {
  readonly address: string;
}

export async function dialConnect(frontend: Frontend, dial: ConnectDial, stop: AbortSignal): Promise<Socket> {
  const { address, allowHalfOpen = false, runtime } = dial;
  const { socket, tls } = await reachFrontend(frontend, { alpn: [], allowHalfOpen, runtime }, stop);
  dial.onFrontend?.();
  const where = describeFrontend(frontend);
  try {
    const exchange = {
      runtime,
      request: connectRequest(address, dial.name ?? parseTarget(address).host, dial.dialId, tls !== undefined),
      maxBodyBytes: MAX_BODY_BYTES,
      malformed: () => badAnswer(where, "it is not HTTP/1, so this may be a gRPC frontend"),
      lost: (why: unknown) => unanswered(where, why, tls),
    };
    const refusal = await exchangeConnect(socket, exchange, stop);
    if (refusal === undefined) return socket;
    const { status, body } = refusal;
    // Before it looks at any request, the server has judged the connection.
    const forbidden = status === 403 && tls !== undefined ? explainForbidden(body, tls.facts()) : undefined;
    throw forbidden ?? new DialRefusedError(address, body, status);
  } catch (reason) {
    socket.destroy();
    throw reason;
  }
}

/**
 * Byte for byte what HyperShift's dialer sends, the target in the request line and the host alone, and besides how this
 * end notices a cut, and a given ID: other servers ignore both.
 */
function connectRequest(address: string, host: string, dialId: bigint | undefined, isTls: boolean): string {
  const id = dialId === undefined ? "" : dialIdHeader(dialId);
  const cut = isTls ? ALERT_HEADER : "";
  return `CONNECT ${address} HTTP/1.1\r\nHost: ${isIPv6(host) ? `[${host}]` : host}\r\n${id}${cut}\r\n`;
}

/** One CONNECT exchange on a stream that is connected already: with a proxy-server, or with any other HTTP proxy. */
export interface ConnectExchange {
  /** Default: the system's. */
  readonly runtime?: Runtime | undefined;
  /** The request, complete. */
  readonly request: string;
  /** How much of a refusal's text is of interest. */
  readonly maxBodyBytes: number;
  /** The errors for an answer that is not HTTP/1, and for no answer. */
  readonly malformed: () => Error;
  readonly lost: (why: unknown) => Error;
}

export interface ConnectRefusal {
  readonly status: number;
  readonly body: string;
}

/** A refusal's text ends with the connection; a server that keeps it open is not waited for. */
const BODY_WAIT_MS = 2_000;

/** Undefined: the stream is the tunnel now, with the far side's first bytes still in it. Destroys nothing. */
export async function exchangeConnect(
  stream: Duplex,
  exchange: ConnectExchange,
  stop: AbortSignal,
): Promise<ConnectRefusal | undefined> {
  stream.write(exchange.request, "latin1");
  const { answer, rest } = await readHead(stream, exchange, stop);
  if (answer.status !== 200) {
    const limit = Math.min(answer.bodyBytes ?? exchange.maxBodyBytes, exchange.maxBodyBytes);
    const body = await readBody(stream, rest, limit, stop, exchange.runtime ?? systemRuntime);
    return { status: answer.status, body: body.toString("utf8").trim() };
  }
  if (rest.length > 0) stream.unshift(rest);
  return undefined;
}

type Head = { readonly answer: ConnectAnswer & { kind: "answer" }; readonly rest: Buffer };

function readHead(stream: Duplex, exchange: ConnectExchange, stop: AbortSignal): Promise<Head> {
  return collect<Head>(stream, stop, (bytes, end) => {
    const answer = parseConnectAnswer(bytes);
    if (answer?.kind === "answer") return { answer, rest: bytes.subarray(answer.headBytes) };
    if (answer !== undefined) throw exchange.malformed();
    if (end !== undefined) throw exchange.lost(end);
    return undefined;
  });
}

async function readBody(
  stream: Duplex,
  start: Buffer,
  limit: number,
  stop: AbortSignal,
  runtime: Runtime,
): Promise<Buffer> {
  if (start.length >= limit) return start.subarray(0, limit);
  const { signal: late, cancel } = deadlineIn(runtime, BODY_WAIT_MS);
  const judge = (bytes: Buffer, end: unknown) =>
    end !== undefined || bytes.length >= limit ? bytes.subarray(0, limit) : undefined;
  return await collect(stream, stop, judge, start, late).finally(cancel);
}

/**
 * Gathers what arrives until `judge` returns a value or throws; `end` is why nothing more will come, once that is so, or
 * is waited for. Reads by `readable`, which leaves the stream as it was found: not flowing, so that its next owner misses
 * nothing.
 */
function collect<T>(
  stream: Duplex,
  stop: AbortSignal,
  judge: (bytes: Buffer, end: unknown) => T | undefined,
  start = EMPTY,
  late?: AbortSignal,
): Promise<T> {
  return step<T>(stop, (resolve, reject) => {
    let bytes = start;
    const look = (end?: unknown): void => {
      try {
        const found = judge(bytes, end);
        if (found !== undefined) resolve(found);
      } catch (reason) {
        reject(reason);
      }
    };
    const onReadable = (): void => {
      const chunk = stream.read() as Buffer | null;
      if (chunk === null) return;
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      look();
    };
    const onEnd = (): void => look("it hung up without an answer");
    stream.on("readable", onReadable).once("error", look).once("end", onEnd).once("close", onEnd);
    late?.addEventListener("abort", onEnd);
    if (stream.destroyed || stream.readableEnded) onEnd();
    else onReadable();
    return () => {
      stream.off("readable", onReadable).off("error", look).off("end", onEnd).off("close", onEnd);
      late?.removeEventListener("abort", onEnd);
    };
  });
}

const EMPTY: Buffer = Buffer.alloc(0);
