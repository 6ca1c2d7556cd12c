import { randomFillSync } from "node:crypto";
import type { DialId } from "../wire/packet.js";

/** Randomness is drawn for many dials at once: a call for eight bytes costs as much as one for thousands. */
const drawn = Buffer.alloc(4096);
let used = drawn.length;

/** 63 random bits, as upstream's client makes them. */
export function newDialId(): DialId {
  if (used === drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  used += 8;
  return drawn.readBigUInt64BE(used - 8) >> 1n;
}
