/** Why a dial failed: the proxy-server's and the agent's own words, under our codes. */

import { statSync } from "node:fs";
import type { ErrorCode } from "../../base/errors/catalogue.js";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { type Runtime, systemRuntime } from "../../base/runtime.js";
import { alertIn, explainConnect, explainEnd, ownProblem } from "../outgoing/explain.js";
import type { DialFacts } from "../outgoing/facts.js";
import type { Secured } from "../outgoing/secure.js";
import { REDIAL_MS, redialled } from "./redial.js";

/** A dial that was answered, with no. */
export class DialRefusedError extends DrawbridgeError {
  /** The HTTP status of the answer; undefined on gRPC frontends, which have none. */
  readonly status: number | undefined;
  /** The refusal as it was received. */
  readonly answer: string;

  constructor(address: string, answer: string, status?: number) {
    const [words = ""] = answer.split("\n");
    const what = [status, words].filter((part) => part !== undefined && part !== "").join(", ");
    const code = codeOf(answer, status);
    // More exact than the code's where the agent's words allow it.
    const known = code === "DB_DIAL_FAILED" ? AGENT_WORDS.find(([pattern]) => pattern.test(answer)) : undefined;
    super(code, `the proxy-server did not connect to ${address}: ${what}`, { remedy: known?.[1] });
    this.status = status;
    this.answer = answer;
  }
}

/** What agents pass on of Go, or of Node in Go's words, and what to do about it. */
const AGENT_WORDS: readonly (readonly [RegExp, string])[] = [
  [
    /no such host/i,
    "Correct the name, or make its record at the DNS server that the agent asks: it looks names up on its own host or in its own pod.",
  ],
  [
    /\blookup \S+.*: /i,
    "Fix DNS where the agent runs: its /etc/resolv.conf, and the way from there to the DNS server in it.",
  ],
  [
    /connection refused/i,
    "The agent reached the host, but nothing listens at that port: start what should listen there, or correct the port; of a Service, compare targetPort and its endpoints.",
  ],
  [
    /no route to host|network is unreachable/i,
    "Fix the route or the firewall rule where the agent runs, or send this destination to an agent that has one (--agent-identifiers).",
  ],
];

/** Both kinds of frontend pass the same phrases on, so phrases decide, and the status only where none is known. */
function codeOf(answer: string, status: number | undefined): ErrorCode {
  if (status !== undefined && status < 500) return "DB_PEER_PROTOCOL";
  if (/no agent available|no tunnels available/i.test(answer)) return "DB_NO_AGENT";
  if (/destination policy/i.test(answer)) return "DB_DIAL_DENIED";
  if (status === 504 || /timeout|timed out|deadline exceeded/i.test(answer)) return "DB_DIAL_TIMEOUT";
  if (/backend context error|failed to tunnel dial request/i.test(answer)) return "DB_AGENT_LOST";
  // The agent tried, and the endpoint or the network before it refused.
  return "DB_DIAL_FAILED";
}

/** An address that no agent could dial; it is not even sent. */
export function badAddress(address: string, why: string): DrawbridgeError {
  return new DrawbridgeError(
    "DB_DIAL_FAILED",
    `${JSON.stringify(address)} cannot be dialled: ${why}; write host:port.`,
  );
}

export function dialTimeout(address: string, timeoutMs: number): DrawbridgeError {
  return new DrawbridgeError("DB_DIAL_TIMEOUT", `the dial of ${address} was not answered within ${timeoutMs} ms.`);
}

export function agentGaveUp(address: string): DrawbridgeError {
  return new DrawbridgeError("DB_AGENT_LOST", `the agent gave the dial of ${address} up without a reason.`);
}

/** A tunnel that was open, and ended before its stream was complete. */
export function tunnelCut(address: string, where: string, why: string): DrawbridgeError {
  return new DrawbridgeError(
    "DB_TUNNEL_CUT",
    `the tunnel to ${address} through the proxy-server at ${where} was cut: ${why}.`,
  );
}

const SOCKET_PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: "this socket does not exist",
  ECONNREFUSED: "no process listens on this socket any more",
  EACCES: "this user may not open the socket",
  ENOTSOCK: "this file is not a socket",
};

/** What is at a path that refuses connections: only of a socket can it be said that nobody listens on it. */
function otherThanSocket(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isSocket()) return undefined;
  return `this is a ${found.isDirectory() ? "directory" : "file"} and not a socket; the server's is that of its --uds-name`;
}

/** A Unix socket, for whose errors Node has only its codes. */
export function socketUnreachable(path: string, cause: unknown): DrawbridgeError {
  const { code = "" } = (cause ?? {}) as { code?: string };
  if (code === "EMFILE" || code === "ENFILE") {
    const explained = explainConnect(path, cause);
    if (explained instanceof DrawbridgeError) return explained;
  }
  const other = code === "ECONNREFUSED" ? otherThanSocket(path) : undefined;
  const why = other ?? SOCKET_PROBLEMS[code];
  const explained = Object.assign(new Error(`${why} (${code})`, { cause }), other === undefined ? { code } : {});
  return frontendUnreachable(path, why === undefined ? cause : explained);
}

export function frontendUnreachable(where: string, cause: unknown): DrawbridgeError {
  return frontendError(`the proxy-server at ${where} cannot be reached`, cause);
}

export function frontendLost(where: string, cause: unknown): DrawbridgeError {
  return frontendError(`the connection to the proxy-server at ${where} was lost`, cause);
}

function frontendError(what: string, cause: unknown): DrawbridgeError {
  // OpenSSL's messages carry its source lines; its reason alone is for people.
  const { reason } = (cause ?? {}) as { reason?: unknown };
  const why = typeof reason === "string" ? reason : messageOf(cause);
  return new DrawbridgeError("DB_FRONTEND", `${what}: ${why}.`, { cause });
}

/** What is known of a connection with TLS. */
export interface FrontendTrust {
  readonly facts: Secured["facts"];
  /** Milliseconds since the handshake was over. */
  readonly age: () => number;
}

/** The connection ended before the dial was answered. */
export function unanswered(where: string, why: unknown, tls: FrontendTrust | undefined): DrawbridgeError {
  return (tls && refusalBehind(why, tls)) ?? frontendLost(where, why);
}

/** Our certificate's refusal, where an end before any answer looks like one. */
export function refusalBehind(why: unknown, tls: FrontendTrust): DrawbridgeError | undefined {
  const facts = tls.facts();
  const isRefusal = alertIn(why) !== undefined || (isEarly(tls) && (isReset(why) || isSuspect(facts)));
  return isRefusal ? explainEnd(why, facts) : undefined;
}

/** A server that refuses a client's certificate hangs up within this after the handshake. */
const HANG_UP_MS = 1_000;

const isEarly = ({ age }: FrontendTrust): boolean => age() < HANG_UP_MS;

/** What we had sent was never read. */
const isReset = (why: unknown): boolean => /^(?:ECONNRESET|EPIPE)$/.test((why as { code?: string })?.code ?? "");

const isSuspect = (facts: DialFacts): boolean => facts.own.length === 0 || ownProblem(facts) !== undefined;

export function badAnswer(where: string, why: string): DrawbridgeError {
  return new DrawbridgeError("DB_PEER_PROTOCOL", `the answer of ${where} makes no sense: ${why}.`);
}

/** Options and bounds of a dial, from the first connect to the last byte of the answer: its deadline and the caller's signal. */
export interface DialOptions {
  /** Gives the dial up; the promise rejects with the signal's reason. Without effect once the tunnel is open. */
  readonly signal?: AbortSignal | undefined;
  /** For the whole dial. Default 30 s, as long as kube-apiserver waits. */
  readonly timeoutMs?: number | undefined;
  /**
   * For how long a dial is made again while the server does not listen or has no agent, within `timeoutMs`. Default 5 s;
   * 0: it is made once.
   */
  readonly redialMs?: number | undefined;
  /** As in `net.connect`: whether our side stays open after the far side ended. gRPC tunnels always close whole. */
  readonly allowHalfOpen?: boolean | undefined;
  /** The name that the address is the answer for; http-connect frontends are told it, in the Host header. */
  readonly name?: string | undefined;
  /** A number of up to 63 bits under which a drawbridge server lists the dial in its admin API. Default: random. */
  readonly dialId?: bigint | undefined;
  /** The frontend is reached, TLS included; nothing has been asked of it yet. */
  readonly onFrontend?: (() => void) | undefined;
}

/** The same with what no program chooses. */
export interface InnerDialOptions extends DialOptions {
  /** Default: the system's. */
  readonly runtime?: Runtime | undefined;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/** Runs a dial, again while nobody has seen it, with a signal that fires, with the error to reject with, when it must stop. */
export function dialWithinBounds<T>(
  address: string,
  options: InnerDialOptions,
  run: (stop: AbortSignal) => Promise<T>,
): Promise<T> {
  const { redialMs = REDIAL_MS, timeoutMs = DEFAULT_TIMEOUT_MS, runtime } = options;
  const forMs = Math.min(redialMs, timeoutMs);
  return withinBounds(address, options, (stop) => redialled({ forMs, runtime }, stop, () => run(stop)));
}

/** Runs something with a signal that fires, with the error to reject with, when it must stop. */
export async function withinBounds<T>(
  address: string,
  { signal, timeoutMs = DEFAULT_TIMEOUT_MS, runtime = systemRuntime }: InnerDialOptions,
  run: (stop: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const stop = new AbortController();
  const onAbort = (): void => stop.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort);
  const cancelTimer = runtime.after(timeoutMs, () => stop.abort(dialTimeout(address, timeoutMs)), true);
  try {
    return await run(stop.signal);
  } finally {
    cancelTimer();
    signal?.removeEventListener("abort", onAbort);
  }
}
