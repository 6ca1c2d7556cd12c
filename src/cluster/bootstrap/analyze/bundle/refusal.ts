import { DrawbridgeError } from "../../../../base/errors/error.js";

export function unusableBundle(path: string, why: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_BUNDLE", `${path} cannot be analysed: ${why}.`, { cause });
}

/** What is wrong with the bytes; whoever knows the file's name makes a sentence of it. */
export class DamagedArchive extends Error {}
