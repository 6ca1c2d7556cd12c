import { type ErrorCode, remedies } from "./catalogue.js";

/** The one error family: a stable code, a sentence with the particulars, the cause kept. */
export class DrawbridgeError extends Error {
  readonly code: ErrorCode;
  override readonly name = "DrawbridgeError";

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  /** What the reader can do next. */
  get remedy(): string {
    return remedies[this.code];
  }
}

/** The sentence of anything caught, without a stack. */
export function messageOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
