/**
 * What waits to be sent on one stream. Packets are encoded straight into staging buffers; one buffer at a time is in
 * the transport's hands; the rest of a turn's packets gather behind it and leave together.
 */
import { controlBound, encodePacket, MAX_DATA_HEADER_BYTES, writeControl, writeDataHeader } from "../wire/encode.js";
import { type ConnectId, type ControlPacket, PACKET_INDEX } from "../wire/packet.js";
import type { SegmentCounters } from "./counters.js";
import { returnStaging, type Staging, takeStaging } from "./staging-pool.js";
import { HIGH_WATER_BYTES, LOW_WATER_BYTES, MAX_DATA_BYTES, STAGING_BYTES } from "./tuning.js";

/** Hands bytes to the transport and calls back when it has taken them. */
export type TransportWrite = (bytes: Buffer, done: (error?: Error | null) => void) => void;

export class Outbox {
  /** Bytes encoded but not yet taken by the transport. */
  queuedBytes = 0;
  /** True from the high-water mark until half of it is left. */
  congested = false;

  readonly #write: TransportWrite;
  readonly #onLow: () => void;
  readonly #onEmpty: () => void;
  readonly #counters: SegmentCounters;
  readonly #full: Staging[] = [];
  #current: Staging | undefined;
  #inFlight: Staging | undefined;
  #scheduled = false;
  #closed = false;

  /** `onLow` after congestion, `onEmpty` whenever nothing waits any more. */
  constructor(write: TransportWrite, counters: SegmentCounters, onLow: () => void, onEmpty: () => void) {
    this.#write = write;
    this.#counters = counters;
    this.#onLow = onLow;
    this.#onEmpty = onEmpty;
  }

  /** Copies the payload; the caller may reuse its buffer at once. Returns false when the source should pause. */
  data(connectId: ConnectId, payload: Uint8Array): boolean {
    if (this.#closed) return true;
    for (let from = 0; from < payload.length; from += MAX_DATA_BYTES) {
      const to = Math.min(payload.length, from + MAX_DATA_BYTES);
      const staging = this.#room(MAX_DATA_HEADER_BYTES + to - from);
      const at = writeDataHeader(staging.buffer, staging.fill, connectId, to - from);
      staging.buffer.set(from === 0 && to === payload.length ? payload : payload.subarray(from, to), at);
      this.#added(staging, at + to - from);
      this.#counters.packets[PACKET_INDEX.DATA]!++;
    }
    this.#counters.payloadBytes += payload.length;
    return !this.congested;
  }

  control(packet: ControlPacket): void {
    if (this.#closed) return;
    const bound = controlBound(packet);
    if (bound <= STAGING_BYTES) {
      const staging = this.#room(bound);
      this.#added(staging, writeControl(staging.buffer, staging.fill, packet));
    } else this.#stageLong(encodePacket(packet));
    this.#counters.packets[PACKET_INDEX[packet.type]]!++;
  }

  /** An error text may be longer than a staging buffer; everything else is a few bytes. */
  #stageLong(bytes: Buffer): void {
    for (let from = 0; from < bytes.length; from += STAGING_BYTES) {
      const piece = bytes.subarray(from, from + STAGING_BYTES);
      const staging = this.#room(piece.length);
      staging.buffer.set(piece, staging.fill);
      this.#added(staging, staging.fill + piece.length);
    }
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

  #room(bytes: number): Staging {
    let staging = this.#current;
    if (staging !== undefined && staging.fill + bytes > STAGING_BYTES) {
      this.#full.push(staging);
      staging = undefined;
    }
    staging ??= takeStaging();
    this.#current = staging;
    return staging;
  }

  #added(staging: Staging, fill: number): void {
    this.queuedBytes += fill - staging.fill;
    staging.fill = fill;
    if (this.queuedBytes >= HIGH_WATER_BYTES) this.congested = true;
    if (!this.#scheduled && this.#inFlight === undefined) {
      this.#scheduled = true;
      setImmediate(this.#flush);
    }
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (this.#closed || this.#inFlight !== undefined) return;
    let staging = this.#full.shift();
    if (staging === undefined) {
      staging = this.#current;
      this.#current = undefined;
    }
    if (staging === undefined) return;
    this.#inFlight = staging;
    this.#write(
      staging.fill === STAGING_BYTES ? staging.buffer : staging.buffer.subarray(0, staging.fill),
      this.#taken,
    );
  };

  readonly #taken = (error?: Error | null): void => {
    const staging = this.#inFlight;
    if (staging === undefined || this.#closed) return;
    this.#inFlight = undefined;
    this.queuedBytes -= staging.fill;
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
