/**
 * What exists on the wire: Konnectivity's Packet, one per gRPC message, and the two packets that only drawbridge peers
 * exchange after they have agreed on them (docs/protocol.md).
 */

/** Wire numbers of `PacketType`; 0 to 6 are upstream's, from 1000 on ours. */
export const PacketType = {
  DIAL_REQ: 0,
  DIAL_RSP: 1,
  CLOSE_REQ: 2,
  CLOSE_RSP: 3,
  DATA: 4,
  DIAL_CLS: 5,
  DRAIN: 6,
  CREDIT: 1000,
  END_OF_STREAM: 1001,
} as const;

export type PacketName = keyof typeof PacketType;

/** Names by dense index, in the order above: what metrics and the flight recorder print. */
export const PACKET_NAMES = Object.keys(PacketType) as PacketName[];
export const PACKET_TYPE_COUNT = PACKET_NAMES.length;

/** Dense index by name. */
export const PACKET_INDEX = Object.fromEntries(PACKET_NAMES.map((name, index) => [name, index])) as Record<
  PacketName,
  number
>;

/** Field numbers of upstream's payloads in `Packet`, by packet type 0 to 6. */
const PAYLOAD_FIELDS: readonly number[] = [2, 3, 5, 6, 4, 7, 8];

/** The field of a packet type's payload; undefined for a type that this version does not know. */
export function payloadField(type: number): number | undefined {
  if (type < PacketType.CREDIT) return PAYLOAD_FIELDS[type];
  // Ours carry the same number as their packet type, so that upstream's next fields never collide with them.
  return type === PacketType.CREDIT || type === PacketType.END_OF_STREAM ? type : undefined;
}

/** The field of a CLOSE_REQ that says why a stream is not complete; upstream's peers skip it. */
export const CLOSE_REQ_ERROR = 1000;

/**
 * An agent's number for a connection. Upstream's is an int64 counter from 1; a number while it fits exactly, a bigint
 * beyond 2^53, so that both compare by value as Map keys.
 */
export type ConnectId = number | bigint;

/** The dial ID: 63 random bits, always a bigint. */
export type DialId = bigint;

/** gRPC's default for received messages, which upstream keeps. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/** A packet as an object: everything but the bulk of DATA travels in this form inside the process. */
export type Packet =
  | { readonly type: "DIAL_REQ"; readonly protocol: string; readonly address: string; readonly random: DialId }
  | { readonly type: "DIAL_RSP"; readonly error: string; readonly connectId: ConnectId; readonly random: DialId }
  | { readonly type: "CLOSE_REQ"; readonly connectId: ConnectId; readonly error?: string }
  | { readonly type: "CLOSE_RSP"; readonly connectId: ConnectId; readonly error: string }
  | { readonly type: "DATA"; readonly connectId: ConnectId; readonly data: Buffer }
  | { readonly type: "DIAL_CLS"; readonly random: DialId }
  | { readonly type: "DRAIN" }
  | { readonly type: "CREDIT"; readonly connectId: ConnectId; readonly bytes: number }
  | { readonly type: "END_OF_STREAM"; readonly connectId: ConnectId };

/** Everything but DATA: what the link hands over as an object. */
export type ControlPacket = Exclude<Packet, { type: "DATA" }>;

/** The peer broke the protocol: its stream ends, nothing else does. */
export class WireError extends Error {
  override readonly name = "WireError";
  /** The gRPC status to end the stream with. */
  readonly status: WireStatus;

  constructor(message: string, status: WireStatus = "INTERNAL") {
    super(message);
    this.status = status;
  }
}

export type WireStatus = "INTERNAL" | "RESOURCE_EXHAUSTED" | "UNIMPLEMENTED" | "INVALID_ARGUMENT";
