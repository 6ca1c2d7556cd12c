/**
 * Packets encoded but not yet accepted by the transport, of one stream. Packets are encoded straight into staging buffers, as the payload of HTTP/2 DATA
 * frames; the transport has one buffer at a time; the rest of a turn's packets gather behind it and leave
 * together.
 */
import type { Runtime } from "../../base/runtime.js";
import { controlBound, encodePacket, MAX_DATA_HEADER_BYTES, writeControl, writeDataHeader } from "../wire/encode.js";
import type { ConnectId, ControlPacket } from "../wire/packet.js";
import { FRAME_HEADER_BYTES, FrameType, writeFrameHeader } from "./h2/frames.js";
import type { PacketMeter } from "./packet-meter.js";
import {
  HIGH_WATER_BYTES,
  LOW_WATER_BYTES,
  MAX_CONTROL_BYTES,
  MAX_DATA_BYTES,
  STAGING_BYTES,
  STAGING_POOL,
} from "./tuning.js";

/** The stream that carries the frames. */
export interface FrameSink {
  readonly id: number;
  readonly session: { readonly frameBytes: number; readonly runtime: Pick<Runtime, "soon"> };
  /** Takes whole frames and calls back when the transport is done with the buffer. */
  write(frames: Buffer, done: (error?: Error | null) => void): void;
}

/** A frame that has no room for this much is not worth beginning. */
const LEAST_FRAME_BYTES = 64;

/** Below this a batch of several tunnels' packets waits for more: another turn of the event loop as long as each brings some. */
const SMALL_BATCH_BYTES = 4096;
/** And no longer than so many turns, which may be long ones. */
const MOST_TURNS = 16;

export class Outbox {
  /** Bytes encoded but not yet taken by the transport. */
  queuedBytes = 0;
  /** True from the high-water mark until half of it is left. */
  congested = false;

  readonly #sink: FrameSink;
  readonly #runtime: Pick<Runtime, "soon">;
  readonly #onLow: () => void;
  readonly #onEmpty: () => void;
  readonly #onFull: () => void;
  readonly #meter: PacketMeter;
  readonly #full: Staging[] = [];
  #current: Staging | undefined;
  /** The open frame of the current buffer: where its header belongs, and how far it may reach. */
  #frameAt = 0;
  #frameEnd = 0;
  #inFlight: Staging | undefined;
  #scheduled = false;
  /** Queued bytes of control packets: nothing but this bound holds back the peer that causes them. */
  #controlBytes = 0;
  /** Packets since the last flush, and how many of them were there a turn ago. */
  #packets = 0;
  #packetsBefore = 0;
  #turns = 0;
  /** The last flush had several: then more are likely to be on their way. */
  #crowded = false;
  #closed = false;

  /**
   * `onLow` after congestion, `onEmpty` whenever nothing waits any more, `onFull` when the peer leaves more control
   * packets unread than may wait.
   */
  constructor(sink: FrameSink, meter: PacketMeter, onLow: () => void, onEmpty: () => void, onFull: () => void) {
    this.#sink = sink;
    this.#runtime = sink.session.runtime;
    this.#meter = meter;
    this.#onLow = onLow;
    this.#onEmpty = onEmpty;
    this.#onFull = onFull;
  }

  /** Copies the payload; the caller may reuse its buffer at once. Returns false when the source should pause. */
  data(connectId: ConnectId, payload: Uint8Array): boolean {
    if (this.#closed) return true;
    if (!this.#scheduled) this.#meter.turn();
    for (let from = 0; from < payload.length; from += MAX_DATA_BYTES) {
      const to = Math.min(payload.length, from + MAX_DATA_BYTES);
      const staging = this.#room(MAX_DATA_HEADER_BYTES);
      this.#filled(staging, writeDataHeader(staging.buffer, staging.fill, connectId, to - from));
      this.#copy(payload, from, to);
      this.#meter.data(connectId, to - from);
    }
    this.#schedule();
    return !this.congested;
  }

  control(packet: ControlPacket): void {
    if (this.#closed) return;
    if (!this.#scheduled) this.#meter.turn();
    const before = this.queuedBytes;
    const bound = controlBound(packet);
    if (bound <= this.#sink.session.frameBytes) {
      const staging = this.#room(bound);
      this.#filled(staging, writeControl(staging.buffer, staging.fill, packet));
    } else {
      // An error text may be longer than a frame; everything else is a few bytes.
      const bytes = encodePacket(packet);
      this.#copy(bytes, 0, bytes.length);
    }
    const bytes = this.queuedBytes - before;
    this.#current!.control += bytes;
    this.#controlBytes += bytes;
    if (this.#controlBytes > MAX_CONTROL_BYTES) this.#onFull();
    this.#meter.control(packet);
    this.#schedule();
  }

  /** Forgets everything; nothing is written any more. */
  close(): void {
    this.#closed = true;
    for (const staging of this.#full) returnStaging(staging);
    this.#full.length = 0;
    if (this.#current !== undefined) returnStaging(this.#current);
    this.#current = undefined;
    // What is in flight may still be read by the transport, so it goes to the garbage collector, not to the pool.
    this.#inFlight = undefined;
    this.queuedBytes = 0;
  }

  #copy(bytes: Uint8Array, start: number, end: number): void {
    for (let from = start; from < end; ) {
      const staging = this.#room(1);
      const to = Math.min(end, from + this.#frameEnd - staging.fill);
      staging.buffer.set(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to), staging.fill);
      this.#filled(staging, staging.fill + to - from);
      from = to;
    }
  }

  /** The current buffer, with an open frame that has room for so many bytes in one piece. */
  #room(bytes: number): Staging {
    const staging = this.#current;
    if (staging !== undefined && staging.fill + bytes <= this.#frameEnd) return staging;
    return this.#openFrame(bytes);
  }

  #openFrame(bytes: number): Staging {
    this.#closeFrame();
    const least = FRAME_HEADER_BYTES + Math.max(bytes, LEAST_FRAME_BYTES);
    let staging = this.#current;
    if (staging !== undefined && staging.fill + least > STAGING_BYTES) {
      this.#full.push(staging);
      staging = undefined;
    }
    staging ??= takeStaging();
    this.#current = staging;
    this.#frameAt = staging.fill;
    this.#filled(staging, staging.fill + FRAME_HEADER_BYTES);
    this.#frameEnd = Math.min(STAGING_BYTES, staging.fill + this.#sink.session.frameBytes);
    return staging;
  }

  #closeFrame(): void {
    const staging = this.#current;
    if (staging === undefined || this.#frameEnd === 0) return;
    const length = staging.fill - this.#frameAt - FRAME_HEADER_BYTES;
    writeFrameHeader(staging.buffer, this.#frameAt, length, FrameType.DATA, 0, this.#sink.id);
    this.#frameEnd = 0;
  }

  #filled(staging: Staging, fill: number): void {
    this.queuedBytes += fill - staging.fill;
    staging.fill = fill;
  }

  #schedule(): void {
    this.#packets++;
    if (this.queuedBytes >= HIGH_WATER_BYTES) this.congested = true;
    if (!this.#scheduled && this.#inFlight === undefined) {
      this.#scheduled = true;
      this.#runtime.soon(this.#flushSoon);
    }
  }

  #mayWait(): boolean {
    const isJoined = this.#crowded && this.#packets > this.#packetsBefore;
    return isJoined && this.#turns < MOST_TURNS && this.queuedBytes < SMALL_BATCH_BYTES;
  }

  /** A write costs as much as all the rest for a small packet: on a busy link it waits until no others join any more. */
  readonly #flushSoon = (): void => {
    if (this.#mayWait()) {
      this.#packetsBefore = this.#packets;
      this.#turns++;
      this.#runtime.soon(this.#flushSoon);
      return;
    }
    this.#packetsBefore = 0;
    this.#turns = 0;
    this.#scheduled = false;
    this.#flush();
  };

  readonly #flush = (): void => {
    if (this.#closed || this.#inFlight !== undefined) return;
    this.#crowded = this.#packets > 1;
    this.#packets = 0;
    let staging = this.#full.shift();
    if (staging === undefined) {
      this.#closeFrame();
      staging = this.#current;
      this.#current = undefined;
    }
    if (staging === undefined) return;
    this.#inFlight = staging;
    this.#sink.write(staging.buffer.subarray(0, staging.fill), this.#taken);
  };

  readonly #taken = (error?: Error | null): void => {
    const staging = this.#inFlight;
    if (staging === undefined || this.#closed) return;
    this.#inFlight = undefined;
    this.queuedBytes -= staging.fill;
    this.#controlBytes -= staging.control;
    // A transport that failed may still hold the bytes: reusing them could show one caller another's.
    if (error) return;
    returnStaging(staging);
    if (this.#full.length > 0 || this.#current !== undefined) this.#flush();
    if (this.congested && this.queuedBytes <= LOW_WATER_BYTES) {
      this.congested = false;
      this.#onLow();
    }
    if (this.queuedBytes === 0) this.#onEmpty();
  };
}

/** A buffer that packets are encoded into, back to back. */
export interface Staging {
  readonly buffer: Buffer;
  fill: number;
  /** How many of them are control packets'. */
  control: number;
}

const free: Staging[] = [];

export function takeStaging(): Staging {
  return free.pop() ?? { buffer: Buffer.allocUnsafeSlow(STAGING_BYTES), fill: 0, control: 0 };
}

/** Only once the transport no longer reads from it: a buffer given back too early corrupts what is in flight. */
export function returnStaging(staging: Staging): void {
  staging.fill = 0;
  staging.control = 0;
  if (free.length < STAGING_POOL) free.push(staging);
}
