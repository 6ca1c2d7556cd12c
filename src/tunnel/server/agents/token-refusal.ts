import { DrawbridgeError } from "../../../base/errors/error.js";

/** The message may be sent to a stranger; the cause is for the log. */
export function tokenRefused(why: string, cause?: unknown): DrawbridgeError {
  return malformedToken(`Failed to validate authentication token, err:${why}`, cause);
}

/** What was sent is not even one token. */
export function malformedToken(message: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_AGENT_TOKEN", message, { cause });
}
