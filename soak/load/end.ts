import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { wasReset } from "../../src/base/cut-socket.js";
import { isTruncated } from "../fixture/tls-door.js";
import type { Random } from "../random.js";
import type { Wait } from "../watch/watchdog.js";
import { Broken } from "./broken.js";
import type { Content } from "./content.js";

export interface EndOptions {
  readonly name: "caller" | "endpoint";
  readonly socket: Duplex;
  readonly sends: Content;
  readonly expects: Content;
  readonly random: Random;
  readonly watch: (what: string, withinMs?: number) => Wait;
  /** A byte that is wrong, or one that nobody sent. */
  readonly onWrong: (what: string) => void;
  /** How much the other end has sent so far. */
  readonly otherSent: () => number;
  readonly onReceived: (bytes: number) => void;
}

const LARGEST_WRITE = 128 * 1024;

/** One end of a tunnel, caller's or endpoint's: sends its content, checks the other's. */
export class End {
  sent = 0;
  received = 0;
  /** The other side said that nothing more comes. */
  ended = false;
  /** The connection is no more. */
  gone = false;
  readonly name: EndOptions["name"];
  readonly #options: EndOptions;
  readonly #socket: Duplex;
  #failure = "";
  #changed = new Set<() => void>();

  constructor(options: EndOptions) {
    this.#options = options;
    this.name = options.name;
    const socket = options.socket;
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#onData(chunk));
    socket.on("end", () => {
      // Behind the last bytes Node reports a reset as an end.
      if (socket instanceof Socket && wasReset(socket)) this.#failure = " (reset behind its last bytes)";
      this.ended = true;
      this.#tell();
    });
    socket.on("error", (reason: Error) => {
      this.#failure = ` (${reason.message})`;
    });
    socket.on("drain", () => this.#tell());
    socket.on("close", () => {
      this.gone = true;
      this.#tell();
    });
    if (socket.destroyed) this.gone = true;
    // Whoever dialled may have left it paused.
    socket.resume();
  }

  // ---- sending -----------------------------------------------------------------------------------------------------

  /** Sends so much; resolves once the socket has taken it all. Whether it moves is watched where it arrives. */
  async send(bytes: number): Promise<void> {
    for (let left = bytes; left > 0; ) {
      this.#insist();
      const size = Math.min(left, this.#options.random.magnitude(1024, LARGEST_WRITE));
      left -= size;
      if (!this.#write(size)) await this.#until(() => !this.#socket.writableNeedDrain);
    }
  }

  /** Sends until there is no more connection, at the speed the other side reads; never fails, never has to move. */
  async flood(): Promise<void> {
    while (!this.gone && !this.#socket.destroyed && !this.#socket.writableEnded) {
      if (!this.#write(64 * 1024)) {
        await this.#until(() => !this.#socket.writableNeedDrain).catch(() => undefined);
      }
    }
  }

  #write(bytes: number): boolean {
    this.sent += bytes;
    const room = this.#socket.write(this.#options.sends.next(bytes));
    // Whoever waits until all is sent would not hear of it otherwise: there is no drain when there is room.
    this.#tell();
    return room;
  }

  // ---- receiving ---------------------------------------------------------------------------------------------------

  #onData(chunk: Buffer): void {
    const { expects, onWrong, otherSent, onReceived } = this.#options;
    const wrong = expects.wrongAt(chunk);
    this.received += chunk.length;
    if (wrong !== undefined) onWrong(`wrong byte ${wrong} at the ${this.name}, in a chunk of ${chunk.length} bytes`);
    else if (this.received > otherSent())
      onWrong(`the ${this.name} got ${this.received} bytes, ${otherSent()} were sent`);
    onReceived(chunk.length);
    this.#tell();
  }

  /** Once so many bytes have arrived in all. */
  async until(bytes: number, { pauses = [] as readonly Pause[] } = {}): Promise<void> {
    const wait = this.#options.watch(`the ${this.name} receiving`);
    let seen = this.received;
    const left = [...pauses];
    try {
      while (this.received < bytes) {
        this.#insist();
        if (this.ended) throw this.#broken("it ended");
        await this.changed();
        if (this.received > seen) wait.moved();
        seen = this.received;
        if (left[0] === undefined || this.received < left[0].after) continue;
        wait.hold();
        await this.pauseReading(left.shift()!.ms);
        wait.release();
      }
    } finally {
      wait.done();
    }
  }

  /** Reads nothing for a while, or until the connection is gone. */
  async pauseReading(ms: number): Promise<void> {
    this.stopReading();
    await sleep(ms);
    this.readOn();
  }

  stopReading(): void {
    this.#socket.pause();
  }

  readOn(): void {
    this.#socket.resume();
  }

  // ---- the end -----------------------------------------------------------------------------------------------------

  /** Nothing more will be sent. */
  finish(): void {
    if (!this.#socket.destroyed && !this.#socket.writableEnded) this.#socket.end();
  }

  /** Closes both directions, unread bytes or not. */
  leave(): void {
    this.#socket.destroy();
  }

  /** Closes with a reset where the socket is a TCP one. */
  reset(): void {
    if (this.#socket instanceof Socket && this.#socket.remotePort !== undefined) this.#socket.resetAndDestroy();
    else this.leave();
  }

  /** Until the other side's end arrives, as an orderly one or not. */
  async untilEnded(withinMs?: number): Promise<void> {
    await this.#patiently("hearing of the end", withinMs, () => this.over);
  }

  /** Until the orderly end; a connection that is gone instead is broken. */
  async untilFinished(): Promise<void> {
    await this.#patiently("hearing of the end", undefined, () => this.ended);
  }

  async untilGone(withinMs?: number): Promise<void> {
    await this.#patiently("closing", withinMs, () => this.gone);
  }

  /** Until what holds is found out by what happens here. */
  async untilEither(holds: () => boolean): Promise<void> {
    await this.#patiently("hearing of the end", undefined, holds);
  }

  async #patiently(what: string, withinMs: number | undefined, holds: () => boolean): Promise<void> {
    if (holds()) return;
    const wait = this.#options.watch(`the ${this.name} ${what}`, withinMs);
    try {
      await this.#until(holds);
    } finally {
      wait.done();
    }
  }

  /** An error that the connection ended with; empty while there is none. */
  get failure(): string {
    return this.#failure;
  }

  /** The other side's end came without the goodbye that TLS has for it. */
  get truncated(): boolean {
    return isTruncated(this.#socket);
  }

  /** It has seen an end of some kind. */
  get over(): boolean {
    return this.ended || this.gone;
  }

  describe(): string {
    const state = this.gone ? `gone${this.#failure}` : this.ended ? "ended" : "open";
    return `${this.name} sent ${this.sent}, received ${this.received}, ${state}`;
  }

  #insist(): void {
    if (this.gone) throw this.#broken("it is gone");
  }

  #broken(what: string): Broken {
    return new Broken("tunnel", `${what} at the ${this.name}${this.#failure}`);
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      this.#insist();
      await this.changed();
    }
  }

  /** Until the next thing happens here. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.#changed.add(resolve));
  }

  #tell(): void {
    const waiting = this.#changed;
    this.#changed = new Set();
    for (const resolve of waiting) resolve();
  }
}

/** A reader's own pause, once it has received so much. */
export interface Pause {
  readonly after: number;
  readonly ms: number;
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
