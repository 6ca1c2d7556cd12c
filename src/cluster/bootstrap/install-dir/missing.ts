import { DrawbridgeError } from "../../../base/errors/error.js";

export function missing(what: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_INSTALL_DIR", `${what}.`, { cause });
}
