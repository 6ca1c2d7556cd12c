/** Generators of packets for property tests. */
import fc from "fast-check";
import type { ConnectId, Packet } from "../packet.js";

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
export const connectIds = fc.oneof(fc.nat(), fc.maxSafeNat(), int64.map(toConnectId));
const texts = fc.string({ unit: "grapheme", maxLength: 60 });

export const controlPackets: fc.Arbitrary<Packet> = fc.oneof(
  fc.record({ type: fc.constant("DIAL_REQ" as const), protocol: texts, address: texts, random: int64 }),
  fc.record({ type: fc.constant("DIAL_RSP" as const), error: texts, connectId: connectIds, random: int64 }),
  fc.record({ type: fc.constant("CLOSE_REQ" as const), connectId: connectIds }),
  fc.record({
    type: fc.constant("CLOSE_REQ" as const),
    connectId: connectIds,
    error: texts.filter((text) => text !== ""),
  }),
  fc.record({ type: fc.constant("CLOSE_RSP" as const), connectId: connectIds, error: texts }),
  fc.record({ type: fc.constant("DIAL_CLS" as const), random: int64 }),
  fc.record({ type: fc.constant("DRAIN" as const) }),
  fc.record({
    type: fc.constant("CREDIT" as const),
    connectId: connectIds,
    bytes: fc.integer({ min: 0, max: 0xffff_ffff }),
  }),
  fc.record({ type: fc.constant("END_OF_STREAM" as const), connectId: connectIds }),
);

export const dataPackets: fc.Arbitrary<Packet> = fc.record({
  type: fc.constant("DATA" as const),
  connectId: connectIds,
  data: fc.uint8Array({ minLength: 1, maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
});

export const packets = fc.oneof(controlPackets, dataPackets);

/** A connection number in its canonical form: a number while exact, else a bigint. */
function toConnectId(value: bigint): ConnectId {
  return value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}
