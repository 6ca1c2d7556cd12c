import { plainText } from "../text.js";
import { type ErrorCode, remedies } from "./catalogue.js";

/** The one error family: a stable code, a sentence with the particulars, the cause kept. */
export class DrawbridgeError extends Error {
  readonly code: ErrorCode;
  override readonly name = "DrawbridgeError";

  /** What the reader can do next; the code's own unless it is given. */
  readonly remedy: string;

  constructor(code: ErrorCode, message: string, { remedy = remedies[code], ...options }: ErrorDetails = {}) {
    super(message, options);
    this.code = code;
    this.remedy = remedy;
  }
}

export interface ErrorDetails {
  readonly cause?: unknown;
  readonly remedy?: string | undefined;
}

/** Makes the errors of one code: `const unusable = errorOf("DB_PAYLOAD")`. */
export const errorOf =
  (code: ErrorCode) =>
  (sentence: string, cause?: unknown): DrawbridgeError =>
    new DrawbridgeError(code, sentence, { cause });

/** Runs the action; its failure is thrown with that code, and its sentence after what failed, as in `FILE cannot be read`. */
export function wrapErrors<T>(code: ErrorCode, what: string, run: () => T): T {
  const wrap = (reason: unknown): never => {
    throw new DrawbridgeError(code, `${what}: ${messageOf(reason)}`, { cause: reason });
  };
  try {
    const result = run();
    return result instanceof Promise ? (result.catch(wrap) as T) : result;
  } catch (reason) {
    return wrap(reason);
  }
}

/**
 * The same for what is written, where the code is of more than that: a disk that is full or read-only has a remedy of its
 * own.
 */
export function wrapWrites<T>(code: ErrorCode, what: string, run: () => Promise<T>): Promise<T> {
  return run().catch((cause: unknown) => {
    throw new DrawbridgeError(code, `${what}: ${messageOf(cause)}`, { cause, remedy: unwrittenRemedy(cause) });
  });
}

const diskRemedies: Readonly<Record<string, string>> = {
  ENOSPC: "Make room on that file system, or choose a place on another; what was there is as it was.",
  EROFS: "Choose a place on a file system that can be written to, or mount this one for writing.",
};

/** What to do about a disk that is full or read-only; undefined for other causes. */
export function unwrittenRemedy(cause: unknown): string | undefined {
  return diskRemedies[String((cause as { code?: unknown } | undefined)?.code)];
}

/** The sentence of anything caught, without a stack. */
export function messageOf(reason: unknown): string {
  if (!(reason instanceof Error)) return String(reason);
  // The system call and its file, a temporary one perhaps, are no help there.
  return unwrittenRemedy(reason) === undefined ? reason.message : reason.message.replace(/, \w+( '.*)?$/, "");
}

/** Code and remedy of anything caught, as fields of a log line; none where there are none. */
export function causeFields(reason: unknown): { readonly code?: ErrorCode; readonly remedy?: string } {
  return reason instanceof DrawbridgeError ? { code: reason.code, remedy: reason.remedy } : {};
}

/** Why something failed: what a person reads, and what a script matches on. */
export interface Cause {
  /** Without its full stop. */
  readonly sentence: string;
  /** Absent where the cause is not one that is known here. */
  readonly code?: ErrorCode;
  readonly remedy?: string;
}

/** Of anything caught. */
export const causeOf = (reason: unknown): Cause => ({
  sentence: plainText(messageOf(reason), LONGEST_SENTENCE).replace(/\.$/, ""),
  ...causeFields(reason),
});

const LONGEST_SENTENCE = 2_000;

/** `its certificate expired (DB_TLS_OWN_EXPIRED). Renew it.` */
export const causeText = ({ code, sentence, remedy }: Cause): string =>
  code === undefined ? sentence : `${sentence} (${code}). ${remedy}`;

/** The same without its full stop, for the middle of a sentence. */
export function reasonOf(reason: unknown): string {
  return messageOf(reason).replace(/\.$/, "");
}
