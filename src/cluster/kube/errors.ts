import { DrawbridgeError } from "../../base/errors/error.js";

/** A request to the Kubernetes API that did not succeed. */
export class KubeApiError extends DrawbridgeError {
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  /** The API's machine-readable reason (`NotFound`, `Conflict`, ...); empty when it gave none. */
  readonly reason: string;
  /** The API's own words, which peers may match on; our sentence when there are none. */
  readonly detail: string;

  constructor(sentence: string, answer: { status: number; reason?: string; detail?: string; cause?: unknown }) {
    super("DB_API_REQUEST", sentence, { cause: answer.cause });
    this.status = answer.status;
    this.reason = answer.reason ?? "";
    this.detail = answer.detail ?? sentence;
  }
}

export function refusalError(what: string, status: number, body: string): KubeApiError {
  const { reason, message } = readStatus(body);
  const why = message ?? (reason === undefined ? "it gave no reason" : reason);
  return new KubeApiError(`The Kubernetes API refused ${what} with ${status}: ${why}`, {
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { detail: message }),
  });
}

export function unreachableError(what: string, server: string, why: string, cause?: unknown): KubeApiError {
  return new KubeApiError(`The Kubernetes API at ${server} did not answer ${what}: ${why}`, {
    status: 0,
    cause,
  });
}

/** The parts of a `Status` object that explain a failure; proxies in between answer with other things. */
export function readStatus(body: string): { reason?: string; message?: string } {
  try {
    const { reason, message } = JSON.parse(body) as { reason?: unknown; message?: unknown };
    return {
      ...(typeof reason === "string" ? { reason } : {}),
      ...(typeof message === "string" ? { message } : {}),
    };
  } catch {
    return {};
  }
}

export function isNotFound(reason: unknown): boolean {
  return reason instanceof KubeApiError && reason.status === 404;
}

export function isConflict(reason: unknown): boolean {
  return reason instanceof KubeApiError && reason.status === 409;
}

/** The resource version asked for is too old: list again. */
export function isGone(reason: unknown): boolean {
  return reason instanceof KubeApiError && reason.status === 410;
}

/** No answer, or one that says nothing about the object: the same request may succeed a little later. */
export function isTransient(reason: unknown): boolean {
  if (reason instanceof KubeApiError) return reason.status === 0 || reason.status === 429 || reason.status >= 500;
  return reason instanceof DrawbridgeError && reason.cause instanceof KubeApiError && isTransient(reason.cause);
}
