/**
 * A byte stream of gRPC messages to packets, for any split of the bytes.
 *
 * DATA is cut through: as soon as its header is complete its payload is handed on slice by slice, without waiting for
 * the rest and without a copy. Everything else is gathered whole (bounded) and decoded.
 */
import { decodePacket } from "./decode.js";
import { GRPC_PREFIX_BYTES, TAG_DATA } from "./encode.js";
import { type ConnectId, type ControlPacket, MAX_MESSAGE_BYTES, WireError } from "./packet.js";
import { VarintReader } from "./varint.js";

export interface PacketHandler {
  onControl(packet: ControlPacket): void;
  /** A part of a DATA packet's payload, in order; `chunk` is a view that stays valid, never empty. */
  onData(connectId: ConnectId, chunk: Buffer): void;
}

/** Counts every packet once its head is there, before the handler gets it; link/packet-meter.ts implements it. */
export interface PacketTally {
  data(connectId: ConnectId, payloadBytes: number): void;
  control(packet: ControlPacket): void;
}

const HEAD = { NEED_MORE: 0, DATA: 1, WHOLE: 2 } as const;
type Head = (typeof HEAD)[keyof typeof HEAD];

/** Prefix, three tags and type, three varints of the eight bytes the fast path reads at most. */
const CARRY_BYTES = GRPC_PREFIX_BYTES + 5 + 3 * 8;

/** Memory allocated for a message before any of it has come: a peer may announce more than it ever sends. */
const FIRST_MESSAGE_BYTES = 4096;

const varint = new VarintReader();

export class PacketReader {
  readonly #handler: PacketHandler;
  readonly #tally: PacketTally | undefined;
  readonly #maxMessage: number;

  /** Payload bytes of the DATA packet under way. */
  #payloadLeft = 0;
  #dataId: ConnectId = 0;

  /** A message that is gathered whole; the buffer grows with what has come. */
  #message: Buffer | undefined;
  #messageFill = 0;
  #messageLength = 0;

  /** The first bytes of a message whose head is not complete yet. */
  readonly #carry = Buffer.alloc(CARRY_BYTES);
  #carryFill = 0;

  /** Results of #readHead. */
  #headLength = 0;
  #headEnd = 0;

  constructor(handler: PacketHandler, tally?: PacketTally, maxMessage = MAX_MESSAGE_BYTES) {
    this.#handler = handler;
    this.#tally = tally;
    this.#maxMessage = maxMessage;
  }

  /** True between messages: an end of the stream here loses nothing. */
  get idle(): boolean {
    return this.#payloadLeft === 0 && this.#message === undefined && this.#carryFill === 0;
  }

  /** Throws a WireError when the peer broke the protocol; the reader is then of no further use. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#payloadLeft > 0) at = this.#passPayload(chunk, at);
      else if (this.#message !== undefined) at = this.#gather(this.#message, chunk, at);
      else if (this.#carryFill > 0) at = this.#beginFromCarry(chunk, at);
      else at = this.#begin(chunk, at);
    }
  }

  #passPayload(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#payloadLeft);
    this.#payloadLeft -= end - at;
    this.#handler.onData(this.#dataId, at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end));
    return end;
  }

  #startMessage(): Buffer {
    this.#messageFill = 0;
    this.#messageLength = this.#headLength;
    return Buffer.allocUnsafe(Math.min(this.#headLength, FIRST_MESSAGE_BYTES));
  }

  #gather(message: Buffer, chunk: Buffer, at: number): number {
    const taken = Math.min(chunk.length - at, this.#messageLength - this.#messageFill);
    let into = message;
    if (this.#messageFill + taken > into.length) {
      into = Buffer.allocUnsafe(Math.min(this.#messageLength, Math.max(2 * into.length, this.#messageFill + taken)));
      message.copy(into, 0, 0, this.#messageFill);
    }
    chunk.copy(into, this.#messageFill, at, at + taken);
    this.#messageFill += taken;
    if (this.#messageFill < this.#messageLength) this.#message = into;
    else {
      this.#message = undefined;
      this.#deliver(into);
    }
    return at + taken;
  }

  #begin(chunk: Buffer, at: number): number {
    switch (this.#readHead(chunk, at, chunk.length)) {
      case HEAD.DATA:
        return this.#headEnd;
      case HEAD.WHOLE: {
        const from = at + GRPC_PREFIX_BYTES;
        const to = from + this.#headLength;
        if (to <= chunk.length) {
          this.#deliver(chunk.subarray(from, to));
          return to;
        }
        this.#message = this.#startMessage();
        return from;
      }
      default:
        this.#carryFill = chunk.copy(this.#carry, 0, at);
        return chunk.length;
    }
  }

  #beginFromCarry(chunk: Buffer, at: number): number {
    const before = this.#carryFill;
    const filled = before + chunk.copy(this.#carry, before, at);
    switch (this.#readHead(this.#carry, 0, filled)) {
      case HEAD.DATA:
        this.#carryFill = 0;
        return at + this.#headEnd - before;
      case HEAD.WHOLE: {
        this.#carryFill = 0;
        const message = this.#startMessage();
        const early = Math.min(before, GRPC_PREFIX_BYTES + this.#headLength);
        this.#messageFill = this.#carry.copy(message, 0, GRPC_PREFIX_BYTES, Math.max(early, GRPC_PREFIX_BYTES));
        if (this.#messageFill === this.#headLength) this.#deliver(message);
        else this.#message = message;
        return at + Math.max(0, GRPC_PREFIX_BYTES - before);
      }
      default:
        this.#carryFill = filled;
        return at + filled - before;
    }
  }

  /**
   * Looks at the start of a message. DATA in the one shape every peer sends it is recognised by its header alone;
   * whatever else it is, it is gathered whole.
   */
  #readHead(bytes: Buffer, at: number, end: number): Head {
    if (end - at < GRPC_PREFIX_BYTES) return HEAD.NEED_MORE;
    if (bytes[at] !== 0) throw new WireError("compressed gRPC messages are not supported", "UNIMPLEMENTED");
    const length = bytes.readUInt32BE(at + 1);
    if (length > this.#maxMessage) {
      throw new WireError(
        `grpc: received message larger than max (${length} vs. ${this.#maxMessage})`,
        "RESOURCE_EXHAUSTED",
      );
    }
    this.#headLength = length;
    const from = at + GRPC_PREFIX_BYTES;
    const stop = from + length;
    const known = Math.min(end, stop);
    let to = from;
    if (to < known && bytes[to++] !== 0x08) return HEAD.WHOLE;
    if (to < known && bytes[to++] !== 0x04) return HEAD.WHOLE;
    if (to < known && bytes[to++] !== TAG_DATA) return HEAD.WHOLE;
    if (!varint.read(bytes, to, known)) return this.#short(to, known, stop);
    if (varint.at + varint.value !== stop) return HEAD.WHOLE;
    to = varint.at;
    if (to < known && bytes[to++] !== 0x08) return HEAD.WHOLE;
    if (!varint.read(bytes, to, known)) return this.#short(to, known, stop);
    const connectId = varint.value;
    to = varint.at;
    if (to < known && bytes[to++] !== 0x1a) return HEAD.WHOLE;
    if (!varint.read(bytes, to, known)) return this.#short(to, known, stop);
    const payload = varint.value;
    if (payload === 0 || varint.at + payload !== stop) return HEAD.WHOLE;
    this.#dataId = connectId;
    this.#payloadLeft = payload;
    this.#headEnd = varint.at;
    this.#tally?.data(connectId, payload);
    return HEAD.DATA;
  }

  /** The head ended inside a varint: more bytes may complete it, unless the message has ended or the varint is too long. */
  #short(at: number, known: number, stop: number): Head {
    return known < stop && known - at < 8 ? HEAD.NEED_MORE : HEAD.WHOLE;
  }

  #deliver(body: Buffer): void {
    const packet = decodePacket(body);
    if (packet === undefined) return;
    if (packet.type === "DATA") {
      this.#tally?.data(packet.connectId, packet.data.length);
      if (packet.data.length > 0) this.#handler.onData(packet.connectId, packet.data);
      return;
    }
    this.#tally?.control(packet);
    this.#handler.onControl(packet);
  }
}
