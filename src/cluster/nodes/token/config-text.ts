/** Long texts inside Secrets: gzip, then base64, so that they fit into the megabyte an object may have. */
import { gunzipSync, gzipSync } from "node:zlib";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";

/** What no configuration comes near; more is not one, however small it was packed. */
const LONGEST = 64 * 1024 * 1024;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Nothing stays nothing. */
export function pack(text: string): string {
  return text === "" ? "" : gzipSync(Buffer.from(text, "utf8"), { level: 9 }).toString("base64");
}

export function unpack(packed: string): string {
  if (packed === "") return "";
  if (!BASE64.test(packed)) throw unreadable("it is not base64");
  try {
    return gunzipSync(Buffer.from(packed, "base64"), { maxOutputLength: LONGEST }).toString("utf8");
  } catch (reason) {
    throw unreadable(messageOf(reason), reason);
  }
}

function unreadable(why: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_TOKEN_SECRET", `failed to decode and decompress config: ${why}`, { cause });
}
