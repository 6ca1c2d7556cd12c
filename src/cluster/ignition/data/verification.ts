import { createHash, timingSafeEqual } from "node:crypto";

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
