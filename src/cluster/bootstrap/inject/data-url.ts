/** File contents as Ignition carries them: data URLs of any media type, base64 or percent-encoded (RFC 2397). */
import { DrawbridgeError } from "../../../base/errors/error.js";

export interface DataUrl {
  /** Everything up to the comma, which decides media type, parameters and encoding; kept as it was spelt. */
  readonly head: string;
  readonly bytes: Buffer;
}

/** How the installer writes text files, and what the plan's own jq checks strip. */
export const TEXT_HEAD = "data:text/plain;charset=utf-8;base64";

export function isDataUrl(source: string): boolean {
  return /^data:/i.test(source);
}

/** Throws DB_IGNITION_CONTENT; `what` names the file for it. */
export function decodeDataUrl(source: string, what: string): DataUrl {
  const comma = source.indexOf(",");
  if (!isDataUrl(source) || comma === -1) throw broken(what, "is not a data URL");
  const head = source.slice(0, comma);
  const body = source.slice(comma + 1);
  return { head, bytes: isBase64(head) ? fromBase64(body, what) : fromPercent(body, what) };
}

export function encodeDataUrl({ head, bytes }: DataUrl): string {
  return `${head},${isBase64(head) ? bytes.toString("base64") : toPercent(bytes)}`;
}

const isBase64 = (head: string): boolean => /;\s*base64\s*$/i.test(head);

function fromBase64(body: string, what: string): Buffer {
  const text = body.includes("%") ? fromPercent(body, what).toString("latin1") : body;
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw broken(what, "has broken base64");
  return Buffer.from(text, "base64");
}

function fromPercent(body: string, what: string): Buffer {
  if (/%(?![0-9A-Fa-f]{2})/.test(body)) throw broken(what, "has a broken percent escape");
  const bytes = body.split(/(%[0-9A-Fa-f]{2})/).map((part) => {
    return part.startsWith("%") ? Buffer.from(part.slice(1), "hex") : Buffer.from(part, "utf8");
  });
  return Buffer.concat(bytes);
}

/** Escapes all but the characters that mean nothing in any URL. */
function toPercent(bytes: Buffer): string {
  return bytes.toString("latin1").replace(/[^A-Za-z0-9\-_.~]/g, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
  });
}

function broken(what: string, how: string): DrawbridgeError {
  return new DrawbridgeError("DB_IGNITION_CONTENT", `the content of ${what} ${how}`);
}
