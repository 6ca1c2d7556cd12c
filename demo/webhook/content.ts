import { createHash } from "node:crypto";

export const MIB = 1024 * 1024;
const BLOCK = 64 * 1024;

/** `count` bytes that differ from block to block, so that a lost, doubled or misplaced piece shows. */
export function* content(count: number): Generator<Buffer> {
  for (let at = 0; at < count; at += BLOCK) {
    const block = Buffer.alloc(Math.min(BLOCK, count - at), at % 251);
    if (block.length >= 4) block.writeUInt32BE(at / BLOCK);
    yield block;
  }
}

export function contentDigest(count: number): string {
  const hash = createHash("sha256");
  for (const block of content(count)) hash.update(block);
  return hash.digest("hex");
}
