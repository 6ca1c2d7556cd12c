/** The least HTTP/2 that keeps a connection alive: answers SETTINGS and PING, gives windows back, collects packets. */
import type { Socket } from "node:net";
import { data, Flag, FrameType, frame, PREFACE, Setting, settings, windowUpdate } from "./frames.js";
import { acceptCall, openCall } from "./headers.js";
import { PacketCollector, type RawPacket } from "./packets.js";

const WIDE_WINDOW = 2 ** 30;

export class RawPeer {
  readonly socket: Socket;
  /** A hostile or an honest server answers; a client asks. */
  readonly #server: boolean;
  readonly #collectors = new Map<number, PacketCollector>();
  /** What the other side lets us send, by stream; 0 is the connection. */
  readonly #windows = new Map<number, number>([[0, 65_535]]);
  #initialWindow = 65_535;
  #pending: Buffer = Buffer.alloc(0);
  #awaitsPreface: boolean;
  onPacket: (packet: RawPacket, stream: number) => void = () => {};
  /** HEADERS arrived on a stream. */
  onHeaders: (stream: number, ended: boolean) => void = () => {};
  /** The stream or, with 0, the connection was ended by the other side with this code. */
  onEnded: (stream: number, code: number) => void = () => {};

  constructor(socket: Socket, role: "client" | "server") {
    this.socket = socket;
    this.#server = role === "server";
    this.#awaitsPreface = this.#server;
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  /** The preface and the first SETTINGS, with windows so wide that they never matter. */
  greet(): void {
    const parts = [settings([Setting.INITIAL_WINDOW_SIZE, WIDE_WINDOW]), windowUpdate(0, WIDE_WINDOW)];
    this.write(...(this.#server ? parts : [PREFACE, ...parts]));
  }

  open(stream: number, path: string, metadata: Readonly<Record<string, string>> = {}): void {
    this.write(openCall(stream, path, metadata));
  }

  accept(stream: number, metadata: Readonly<Record<string, string>>): void {
    this.write(acceptCall(stream, metadata));
  }

  /** Packets, as DATA on a stream. */
  send(stream: number, ...packets: readonly Buffer[]): void {
    const bytes = Buffer.concat(packets);
    this.spend(stream, bytes.length);
    this.write(data(stream, bytes));
  }

  /** Bytes of DATA that may be sent now. */
  room(stream: number): number {
    return Math.min(this.#windows.get(0)!, this.#windows.get(stream) ?? this.#initialWindow);
  }

  /** Counts DATA that was written past `send`. */
  spend(stream: number, bytes: number): void {
    this.#widen(0, -bytes);
    this.#widen(stream, -bytes);
  }

  write(...frames: readonly Buffer[]): void {
    if (!this.socket.destroyed) this.socket.write(Buffer.concat(frames));
  }

  /** From now on this peer takes nothing that is sent to it. */
  stopReading(): void {
    this.socket.pause();
  }

  #read(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    if (this.#awaitsPreface) {
      if (this.#pending.length < PREFACE.length) return;
      this.#pending = this.#pending.subarray(PREFACE.length);
      this.#awaitsPreface = false;
    }
    while (this.#pending.length >= 9) {
      const end = 9 + this.#pending.readUIntBE(0, 3);
      if (this.#pending.length < end) break;
      const [head, body] = [this.#pending.subarray(0, 9), this.#pending.subarray(9, end)];
      this.#pending = this.#pending.subarray(end);
      this.#onFrame(head[3]!, head[4]!, head.readUInt32BE(5) & 0x7fffffff, body);
    }
  }

  #onFrame(type: number, flags: number, stream: number, body: Buffer): void {
    const ack = (flags & Flag.ACK) !== 0;
    if (type === FrameType.SETTINGS && !ack) this.#onSettings(body);
    else if (type === FrameType.PING && !ack) this.write(frame(FrameType.PING, Flag.ACK, 0, body));
    else if (type === FrameType.HEADERS) this.onHeaders(stream, (flags & Flag.END_STREAM) !== 0);
    else if (type === FrameType.RST_STREAM) this.onEnded(stream, body.readUInt32BE(0));
    else if (type === FrameType.WINDOW_UPDATE) this.#widen(stream, body.readUInt32BE(0));
    else if (type === FrameType.GOAWAY) this.onEnded(0, body.readUInt32BE(4));
    else if (type === FrameType.DATA && body.length > 0) {
      this.write(windowUpdate(0, body.length), windowUpdate(stream, body.length));
      const collector = this.#collectors.get(stream) ?? new PacketCollector();
      this.#collectors.set(stream, collector);
      for (const packet of collector.push(body)) this.onPacket(packet, stream);
    }
  }
  #onSettings(body: Buffer): void {
    for (let at = 0; at + 6 <= body.length; at += 6) {
      if (body.readUInt16BE(at) !== Setting.INITIAL_WINDOW_SIZE) continue;
      const initial = body.readUInt32BE(at + 2);
      for (const stream of this.#windows.keys()) if (stream > 0) this.#widen(stream, initial - this.#initialWindow);
      this.#initialWindow = initial;
    }
    this.write(frame(FrameType.SETTINGS, Flag.ACK, 0));
  }

  #widen(stream: number, bytes: number): void {
    this.#windows.set(stream, (this.#windows.get(stream) ?? this.#initialWindow) + bytes);
  }
}
