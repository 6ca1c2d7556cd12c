import { DrawbridgeError } from "../../../../base/errors/error.js";

export function unusableBundle(path: string, why: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_BUNDLE", `${path} cannot be analysed: ${why}.`, { cause });
}
