/**
 * One proxied connection: bytes between its port (the near end) and the link (the far end).
 *
 * With a drawbridge peer each direction has its window and can end on its own. With an upstream peer the protocol has
 * neither: the near queue is bounded (overflow.ts) and any end closes both directions.
 */
import { plainText } from "../../base/text.js";
import type { ConnectId, ControlPacket, DialId } from "../wire/packet.js";
import type { TunnelTable } from "./table.js";
import { ReceiveWindow, SendWindow } from "./window.js";

/** The link that a tunnel runs over. */
export interface Carrier {
  readonly congested: boolean;
  /** Both ends are drawbridge and agreed on credit and end-of-stream. */
  readonly extended: boolean;
  data(connectId: ConnectId, payload: Uint8Array): boolean;
  control(packet: ControlPacket): void;
}

/**
 * A tunnel of which one direction has ended, and the other is silent, for this long is closed: after its own end a party
 * that vanishes altogether gives no sign of it.
 */
const HALF_OPEN_SILENCE_MS = 5 * 60_000;
const HALF_OPEN_SILENCE = "one direction had ended and the other was silent";

/**
 * How the near end learns of a tunnel's end: it gets what is queued and an end (`close`), an end at once (`destroy`), what
 * is queued and then an error, since the stream is not complete (`cut`), or an error at once (`drop`).
 */
type Ending = "close" | "destroy" | "cut" | "drop";

/** A peer's words, of which more is no reason that anybody reads. */
const MAX_ERROR_CHARS = 300;

/** Facts about a dial that are known from its start, for events and listings. */
export interface DialFacts {
  /** The process' own number for the dial and for the tunnel that comes of it. */
  readonly id: number;
  readonly address: string;
  /** Times by the link's clock: of the request, and of the dial towards the endpoint (0: not yet). */
  readonly askedAt: number;
  readonly dialledAt: number;
  /** Of the first dial, where that failed at one agent and another was asked. */
  readonly firstDialledAt?: number;
  /** How the caller came in; only a server knows. */
  readonly frontend?: "grpc" | "http-connect";
  /** The caller's own number for it; only a server knows. */
  readonly dialId?: DialId;
}

export interface TunnelInfo extends DialFacts {
  /** Time by the link's clock at which the dial was answered. */
  readonly openedAt: number;
  /** The watchdog's: nobody's traffic, so it is not counted, not shown and not waited for. */
  readonly isProbe?: boolean;
}

export class Tunnel implements NearEvents {
  readonly connectId: ConnectId;
  readonly port: Port;
  readonly info: TunnelInfo;
  bytesToFar = 0;
  bytesToNear = 0;
  /** Whether the newest bytes came from the far end: at a server, the endpoint has answered its caller. */
  farSpokeLast = false;
  /** Times of its events, by the link's clock; 0 for events that have not happened. */
  firstToFarAt = 0;
  firstToNearAt = 0;
  nearEndedAt = 0;
  farEndedAt = 0;
  /** Set by the table between touched() and settle(). */
  isTouched = false;
  /** Set by overflow.ts while this tunnel's reader holds the link up. */
  overflowing = false;

  readonly #table: TunnelTable;
  readonly #carrier: Carrier;
  readonly #traffic: TunnelTable["traffic"];
  readonly #send: SendWindow | undefined;
  readonly #receive: ReceiveWindow | undefined;
  #isQueueCounted = false;
  /** The near end is not read at present. */
  paused = false;
  #nearEnded = false;
  #farEnded = false;
  closed = false;
  #cancelSilence: (() => void) | undefined;

  constructor(connectId: ConnectId, port: Port, info: TunnelInfo, table: TunnelTable) {
    this.connectId = connectId;
    this.port = port;
    this.info = info;
    this.#table = table;
    this.#carrier = table.carrier;
    this.#traffic = info.isProbe === true ? { toFar: 0, toNear: 0 } : table.traffic;
    if (table.carrier.extended) {
      this.#send = new SendWindow();
      this.#receive = new ReceiveWindow(table.budget);
    }
  }

  /** Bytes that may still be sent before the far end grants more; undefined when it knows no window. */
  get sendWindow(): number | undefined {
    return this.#send?.left;
  }

  get receiveWindow(): number | undefined {
    return this.#receive?.size;
  }

  /** Call once the tunnel is in its table and the caller knows the dial succeeded. */
  start(): void {
    this.port.attach(this);
  }

  // ---- near end -> far end -----------------------------------------------------------------------------------------

  onNearData(chunk: Uint8Array): void {
    if (this.closed) return;
    if (this.bytesToFar === 0) this.firstToFarAt = this.#table.clock.now();
    this.bytesToFar += chunk.length;
    this.farSpokeLast = false;
    this.#traffic.toFar += chunk.length;
    this.#send?.sent(chunk.length);
    const room = this.#carrier.data(this.connectId, chunk);
    if (!room || this.#send?.open === false) this.#pauseNear();
  }

  onNearEnd(): void {
    if (this.closed || this.#nearEnded) return;
    this.#nearEnded = true;
    this.nearEndedAt = this.#table.clock.now();
    if (!this.#carrier.extended) this.close("the near end closed");
    else {
      this.#carrier.control({ type: "END_OF_STREAM", connectId: this.connectId });
      if (this.#farEnded) this.#finish("both ends closed", "close");
      else this.#watchSilence();
    }
  }

  onNearClosed(reason: string): void {
    this.close(reason);
  }

  onNearLost(reason: string): void {
    this.close(reason, "cut");
  }

  #pauseNear(): void {
    if (!this.paused) {
      this.paused = true;
      this.port.pause();
    }
    if (this.#carrier.congested) this.#table.blocked(this);
  }

  /** The link drained, or credit came: go on if neither holds us back. */
  resumeNear(): void {
    if (!this.paused || this.closed) return;
    if (this.#carrier.congested) this.#table.blocked(this);
    else if (this.#send?.open !== false) {
      this.paused = false;
      this.port.resume();
    }
  }

  // ---- far end -> near end -----------------------------------------------------------------------------------------

  onFarData(chunk: Buffer): void {
    if (this.closed || this.#farEnded) return;
    if (this.bytesToNear === 0) this.firstToNearAt = this.#table.clock.now();
    this.bytesToNear += chunk.length;
    this.farSpokeLast = true;
    this.#traffic.toNear += chunk.length;
    this.port.write(chunk);
    this.#table.touched(this);
    if (this.#receive?.received(chunk.length) === false) this.close("the peer sent more than its window", "cut");
  }

  /** End of the turn in which bytes came. */
  settle(): void {
    if (this.closed) return;
    this.port.flush();
    this.#account();
  }

  onNearDrained(): void {
    if (!this.closed) this.#account();
  }

  onFarCredit(bytes: number): void {
    this.#send?.granted(bytes);
    this.resumeNear();
  }

  onFarEnd(): void {
    if (this.closed || this.#farEnded) return;
    this.#farEnded = true;
    this.farEndedAt = this.#table.clock.now();
    if (!this.port.canHalfClose) this.close("the far end closed");
    else if (this.#nearEnded) this.#finish("both ends closed", "close");
    else {
      this.port.end();
      this.#watchSilence();
    }
  }

  /** The far end closed both directions (CLOSE_RSP at a server, CLOSE_REQ at an agent), with an error or in good order. */
  onFarClosed(reason: string, error = ""): void {
    if (error === "") this.#finish(reason, "close");
    else this.#finish(`${reason}: ${plainText(error.slice(0, MAX_ERROR_CHARS))}`, "cut");
  }

  /** Returns credit, or accounts for the bytes that wait for a reader without a window. */
  #account(): void {
    const queued = this.port.queuedBytes;
    if (this.#receive !== undefined) {
      const bytes = this.#receive.toGrant(queued);
      if (bytes > 0) this.#carrier.control({ type: "CREDIT", connectId: this.connectId, bytes });
      return;
    }
    if (queued === 0 && !this.#isQueueCounted) return;
    const budget = this.#table.budget;
    budget.setQueued(this, queued);
    this.#isQueueCounted = queued > 0;
    if (queued > budget.limits.tunnelQueueBytes) this.overflow();
    else if (budget.overfull()) budget.relieve();
  }

  /** This tunnel's reader holds more than its share of memory: its source is held back until the reader catches up. */
  overflow(): void {
    this.#table.overflowing(this);
  }

  #watchSilence(): void {
    const before = this.bytesToFar + this.bytesToNear;
    this.#cancelSilence = this.#table.clock.after(HALF_OPEN_SILENCE_MS, () => {
      if (this.bytesToFar + this.bytesToNear === before) this.close(HALF_OPEN_SILENCE, "cut");
      else this.#watchSilence();
    });
  }

  // ---- the end -----------------------------------------------------------------------------------------------------

  /** Closes both ends: the far end gets a packet, with the reason where the stream is not complete. */
  close(reason: string, how: Ending = "close"): void {
    if (this.closed) return;
    this.#table.closeFar(this.connectId, how === "cut" || how === "drop" ? reason : "");
    this.#finish(reason, how);
  }

  /** The link is gone, so no packet is sent. */
  linkLost(reason: string): void {
    this.#finish(reason, "cut");
  }

  #finish(reason: string, how: Ending): void {
    if (this.closed) return;
    this.closed = true;
    this.#cancelSilence?.();
    this.#receive?.close();
    if (this.#isQueueCounted) this.#table.budget.setQueued(this, 0);
    if (how === "close") this.port.close();
    else if (how === "destroy") this.port.destroy();
    else this.port.cut(reason, how === "drop");
    this.#table.finished(this, reason);
  }
}

/** The near end of a tunnel: a caller's socket, a gRPC caller's stream, or the endpoint's socket. */
export interface Port {
  /** Bytes accepted by write() that the near party has not been handed yet. */
  readonly queuedBytes: number;
  /** Whether the near party can be told "no more bytes" while it may still send. */
  readonly canHalfClose: boolean;

  /** Starts telling `near` what happens; from here on bytes may arrive. */
  attach(near: NearEvents): void;
  /** Queues bytes; they may wait for flush(). */
  write(chunk: Buffer): void;
  /** Lets everything written in this turn go, in one piece. */
  flush(): void;
  pause(): void;
  resume(): void;
  /** No more bytes after those queued; the other direction stays open. */
  end(): void;
  /** Delivers what is queued, then closes both directions. Bounded in time. */
  close(): void;
  /** Closes both directions now. */
  destroy(): void;
  /**
   * Delivers what is queued, unless it is to happen `now`, then ends both directions so that the near party knows that the
   * stream is not complete, as far as it can be told. Bounded in time.
   */
  cut(reason: string, now: boolean): void;
}

/** Events of a port. */
export interface NearEvents {
  /** `chunk` may be reused after the call. */
  onNearData(chunk: Uint8Array): void;
  onNearEnd(): void;
  /** The near party closed both directions, in good order. */
  onNearClosed(reason: string): void;
  /** The near party is gone, both directions. */
  onNearLost(reason: string): void;
  /** The port's queue ran empty after it had been too full. */
  onNearDrained(): void;
}
