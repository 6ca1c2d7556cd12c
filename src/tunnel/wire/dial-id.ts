/** The number that a dial carries from its caller to the agent, in which probes are marked. */
import { type Runtime, systemRuntime } from "../../base/runtime.js";
import type { DialId } from "./packet.js";

/** 63 random bits, as upstream's client makes them. */
export function newDialId(runtime: Pick<Runtime, "randomBytes"> = systemRuntime): DialId {
  return runtime.randomBytes(8).readBigUInt64BE() >> 1n;
}

/** The upper 31 of the 63 bits. By chance no dial has them in years; upstream's servers pass them on from gRPC callers. */
const PROBE_MARK = 0x44_42_70_72n;

/** For a dial by which a sidecar or `doctor` asks only whether an agent answers. */
export const newProbeDialId = (): DialId => (PROBE_MARK << 32n) | BigInt.asUintN(32, newDialId());

export const isProbeDialId = (dialId: DialId): boolean => dialId >> 32n === PROBE_MARK;
