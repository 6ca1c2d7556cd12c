/** The number that a dial carries from its caller to the agent, in which probes are marked. */
import { randomFillSync } from "node:crypto";
import type { DialId } from "./packet.js";

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

/** The upper 31 of the 63 bits. By chance no dial has them in years; upstream's servers pass them on from gRPC callers. */
const PROBE_MARK = 0x44_42_70_72n;

/** For a dial by which a sidecar or `doctor` asks only whether an agent answers. */
export const newProbeDialId = (): DialId => (PROBE_MARK << 32n) | BigInt.asUintN(32, newDialId());

export const isProbeDialId = (dialId: DialId): boolean => dialId >> 32n === PROBE_MARK;
