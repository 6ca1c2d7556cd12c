import type { IncomingHttpHeaders } from "node:http";
import { at } from "../../base/at.js";
import type { ErrorCode } from "../../base/errors/catalogue.js";
import { DrawbridgeError } from "../../base/errors/error.js";
import { plainText } from "../../base/text.js";

/** A request to the Kubernetes API that did not succeed. */
export class KubeApiError extends DrawbridgeError {
  /** HTTP status; 0 when no answer of the API came. */
  readonly status: number;
  /** The API's machine-readable reason (`NotFound`, `Conflict`, ...); empty when it gave none. */
  readonly reason: string;
  /** The API's own words, which peers may match on; our sentence when there are none. */
  readonly detail: string;

  constructor(
    sentence: string,
    answer: { status: number; reason?: string | undefined; detail?: string | undefined; cause?: unknown },
    code = codeOf(answer),
  ) {
    super(code, sentence, { cause: answer.cause });
    this.status = answer.status;
    this.reason = answer.reason ?? "";
    this.detail = answer.detail ?? sentence;
  }
}

const CERTIFICATE = /^DB_TLS_(UNKNOWN_CA|CA_EXPIRED|CLOCK|SERVER_)/;

/** By what has to be fixed: the address, the way there, the cluster's certificate, this identity, or its permissions. */
function codeOf({ status, cause }: { status: number; cause?: unknown }): ErrorCode {
  if (status === 401) return "DB_API_UNAUTHENTICATED";
  if (status === 403) return "DB_API_FORBIDDEN";
  if (status !== 0) return "DB_API_REQUEST";
  const code = String(at(cause, "code"));
  if (code === "DB_API_PROXY" || code === "DB_HTTPS_PROXY") return code;
  return CERTIFICATE.test(code) ? "DB_API_CERTIFICATE" : "DB_API_UNREACHABLE";
}

/** What an API server says of a path that it does not serve at all; of an object that is missing it gives a Status. */
const NO_SUCH_PATH = /^404 page not found\s*$/;
const KIND = /\/apis\/([^/ ]+\/[^/ ]+)\/(?:namespaces\/[^/ ]+\/)?([^/? ]+)/;

/** `body` is the API server's answer, mostly a `Status` object that explains the failure. `known`: what is known of its cause. */
export function refusalError(what: string, status: number, body: string, known?: string): KubeApiError {
  const answer = parsed(body);
  const text = (name: string): string | undefined => {
    const value = at(answer, name);
    return typeof value === "string" ? value : undefined;
  };
  const [, group, resource] = NO_SUCH_PATH.test(body) ? (KIND.exec(what) ?? []) : [];
  if (resource !== undefined) {
    const sentence = `The Kubernetes API does not serve ${resource} of ${group}, so their CustomResourceDefinition is not installed there (${what} was answered with ${status})`;
    return new KubeApiError(sentence, { status, reason: "NotFound" }, "DB_API_KIND");
  }
  const [reason, detail] = [text("reason"), text("message")];
  const words = detail ?? reason ?? (answer === undefined ? plainText(body, LONGEST_QUOTE) : "");
  const sentence = `The Kubernetes API refused ${what} with ${status}: ${words || "it gave no reason"}${known === undefined ? "" : `; ${known}`}`;
  return new KubeApiError(sentence, { status, reason, detail });
}

/** Of an answer with its whole body. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Enough to recognize a page by. */
const LONGEST_QUOTE = 120;

/**
 * Whether an API server gave the refusal: a `Status`. Whatever else it says or passes on (`/readyz`, a path that it does
 * not serve, the answer of a pod) has a header that only it sets.
 */
function isFromApi({ body, headers }: Answer): boolean {
  const own = Object.keys(headers).some((name) => name === "audit-id" || name.startsWith("x-kubernetes-pf-"));
  return own || at(parsed(body), "kind") === "Status";
}

/** Of an answer that is not a success. */
export function failedAnswer(what: string, server: string, answer: Answer, known?: string): KubeApiError {
  const { body, status } = answer;
  return isFromApi(answer) ? refusalError(what, status, body, known) : notTheApiError(what, server, answer);
}

/** What Go programs answer to HTTP on a port for TLS. */
const PLAIN_TO_TLS = /HTTP request to an HTTPS server/;

/** Something else than an API server answered. It says nothing about the object, so its status does not count as the API's. */
export function notTheApiError(what: string, server: string, { body, headers, status }: Answer): KubeApiError {
  const type = /^[^;]+/.exec(headers["content-type"] ?? "")?.[0] ?? "no content type";
  const quote = plainText(body, LONGEST_QUOTE);
  const begins = quote === "" ? "the answer is empty" : `the answer begins with ${JSON.stringify(quote)}`;
  const sentence = `${new URL(server).host} answered ${status} with ${plainText(type, LONGEST_QUOTE)}, which is not the Kubernetes API (${what}): ${begins}${PLAIN_TO_TLS.test(body) ? "; server: has to begin with https:// there" : ""}`;
  return new KubeApiError(sentence, { status: 0 }, "DB_API_NOT_KUBERNETES");
}

export function unreachableError(what: string, server: string, why: string, cause?: unknown): KubeApiError {
  return new KubeApiError(`The Kubernetes API at ${server} did not answer ${what}: ${why}`, { status: 0, cause });
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

const hasStatus = (status: number) => (reason: unknown) => reason instanceof KubeApiError && reason.status === status;

export const isForbidden = hasStatus(403);
export const isNotFound = hasStatus(404);
export const isConflict = hasStatus(409);
/** The resource version asked for is too old: list again. */
export const isGone = hasStatus(410);

/** No answer, or one that says nothing about the object: the same request may succeed a little later. */
export function isTransient(reason: unknown): boolean {
  if (reason instanceof KubeApiError) return reason.status === 0 || reason.status === 429 || reason.status >= 500;
  return reason instanceof DrawbridgeError && reason.cause instanceof KubeApiError && isTransient(reason.cause);
}
