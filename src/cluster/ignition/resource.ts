/** What a resource holds once it is fetched: unpacked, and checked against its hash. */

import { createHash, timingSafeEqual } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { readDataUrl } from "../../base/data-url.js";
import { DrawbridgeError } from "../../base/errors/error.js";
import type { Resource } from "./config.js";

/** Files of a payload have kilobytes; what unpacks to more than this is an attack or a mistake. */
const LARGEST_CONTENT = 50 * 1024 * 1024;

export const isInline = ({ source }: Resource): boolean => source === undefined || /^(?:data:|$)/.test(source);

/** The bytes of an inline resource; none without a source. Throws DB_IGNITION_RESOURCE; `what` names it for that. */
export function inlineContent(resource: Resource, what: string): Buffer {
  const { source = "" } = resource;
  if (source === "") return Buffer.alloc(0);
  if (!isInline(resource)) throw refused(`${what} is not in the config but has to be fetched`);
  const reading = readDataUrl(source);
  if (!reading.ok) throw refused(`${what} cannot be read: ${reading.why}`);
  return received(resource, reading.bytes, what);
}

/** Decodes bytes as they were fetched. Throws DB_IGNITION_RESOURCE. */
export function received(
  { compression, verification }: Resource,
  bytes: Buffer,
  what: string,
  largest = LARGEST_CONTENT,
): Buffer {
  const content = compression === "gzip" ? unpacked(bytes, what, largest) : bytes;
  if (content.length > largest) throw tooLarge(what, largest);
  if (verification?.hash !== undefined && !hasHash(content, verification.hash))
    throw refused(`${what} does not have the hash that the config gives for it`);
  return content;
}

function unpacked(bytes: Buffer, what: string, largest: number): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: largest });
  } catch (error) {
    throw error instanceof RangeError ? tooLarge(what, largest) : refused(`${what} is broken gzip`);
  }
}

const tooLarge = (what: string, largest: number) => refused(`${what} is larger than ${largest / 1024 / 1024} MiB`);

const refused = (sentence: string) => new DrawbridgeError("DB_IGNITION_RESOURCE", sentence);

/** Hash functions of the spec and how many hexadecimal digits each gives. */
export const digestLengths: ReadonlyMap<string, number> = new Map([
  ["sha256", 64],
  ["sha512", 128],
]);

/** Whether the bytes, uncompressed, have the hash `sha512-...` or `sha256-...`. */
export function hasHash(bytes: Buffer, hash: string): boolean {
  const dash = hash.indexOf("-");
  const name = hash.slice(0, dash);
  if (!digestLengths.has(name)) return false;
  const wanted = Buffer.from(hash.slice(dash + 1), "hex");
  const actual = createHash(name).update(bytes).digest();
  return wanted.length === actual.length && timingSafeEqual(wanted, actual);
}
