import { connect as connectNet, type Socket } from "node:net";
import { connectBelow, connected, type Place } from "../raw/place.js";
import { Random } from "./random.js";

/** What an attacker did and what became of it. */
export interface AttackReport {
  readonly connections: number;
  /** Connections that the attacked process ended or refused. */
  readonly ended: number;
  /** Connections that were still open at the end. */
  readonly held: number;
  readonly bytes: number;
  readonly notes: readonly string[];
  /** What must not have happened. */
  readonly violations: readonly string[];
}

const CONNECT_WITHIN_MS = 3_000;
const ENDED_WITHIN_MS = 2_000;

/** The attacker's hands: they count what is opened, sent and ended, and stop when the time is over. */
export class Work {
  readonly random: Random;
  readonly #ms: number;
  #until: number;
  #begun = false;
  readonly #open = new Set<Socket>();
  readonly #notes: string[] = [];
  readonly #violations: string[] = [];
  #connections = 0;
  #ended = 0;
  #bytes = 0;
  #closing = false;

  constructor(ms: number, seed: string) {
    this.random = new Random(seed);
    this.#ms = ms;
    this.#until = performance.now() + ms;
  }

  /** The time counts from now, once: what was waited for is there. */
  begin(): void {
    if (!this.#begun) this.#until = performance.now() + this.#ms;
    this.#begun = true;
  }

  get over(): boolean {
    return performance.now() >= this.#until;
  }

  get msLeft(): number {
    return Math.max(0, this.#until - performance.now());
  }

  get openConnections(): number {
    return this.#open.size;
  }

  note(sentence: string): void {
    this.#notes.push(sentence);
  }

  violation(sentence: string): void {
    if (this.#violations.length < 20) this.#violations.push(sentence);
  }

  /** A connection with TLS where the place has it; undefined when it was refused. */
  async connect(place: Place): Promise<Socket | undefined> {
    this.#connections++;
    try {
      return this.#watch(await connected(place, CONNECT_WITHIN_MS));
    } catch {
      this.#ended++;
      return undefined;
    }
  }

  /** A connection without TLS, before it is known whether it is accepted. */
  connectBelow(place: Place): Socket {
    this.#connections++;
    return this.#watch(connectBelow(place));
  }

  connectPort(port: number): Socket {
    this.#connections++;
    return this.#watch(connectNet(port, "127.0.0.1"));
  }

  /** A connection that came in by itself: an agent's, at a hostile server. */
  adopt(socket: Socket): Socket {
    this.#connections++;
    return this.#watch(socket);
  }

  /** Ends a connection that the attacker itself has no more use for. */
  drop(socket: Socket): void {
    this.#open.delete(socket);
    socket.destroy();
  }

  /** Whether the bytes could be handed to the system before the time was over or the connection ended. */
  async write(socket: Socket, bytes: Buffer): Promise<boolean> {
    if (socket.destroyed || !socket.writable || this.over) return false;
    this.#bytes += bytes.length;
    if (socket.write(bytes)) return true;
    return await new Promise((resolve) => {
      const finish = (taken: boolean) => {
        clearTimeout(late);
        socket.off("drain", onDrain);
        socket.off("close", onClose);
        resolve(taken);
      };
      const onDrain = () => finish(true);
      const onClose = () => finish(false);
      const late = setTimeout(() => finish(false), this.msLeft);
      socket.once("drain", onDrain);
      socket.once("close", onClose);
    });
  }

  /** Writes the same bytes again and again, at most so many times and so many a second. */
  async flood(
    socket: Socket,
    bytes: Buffer,
    { times, perSecond }: { times: number; perSecond: number },
  ): Promise<void> {
    const began = performance.now();
    for (let count = 0; count < times && !this.over; count++) {
      if (!(await this.write(socket, bytes))) return;
      const ahead = (count / perSecond) * 1000 - (performance.now() - began);
      if (ahead > 1) await this.sleep(ahead);
      else if (count % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Not beyond the end of the attack. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, Math.min(ms, this.msLeft)));
  }

  async untilOver(): Promise<void> {
    while (!this.over) await this.sleep(100);
  }

  /** Until it is true, all connections are ended, or the time is over. */
  async until(condition: () => boolean): Promise<boolean> {
    while (!this.over) {
      if (condition()) return true;
      await this.sleep(10);
    }
    return condition();
  }

  /** Gives the other side a little more time, beyond the end of the attack, to end what is still open. */
  async untilEnded(): Promise<void> {
    const giveUpAt = this.#until + ENDED_WITHIN_MS;
    while (this.#open.size > 0 && performance.now() < giveUpAt) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /** Closes everything; what the other side had ended before counts as ended. */
  close(): AttackReport {
    this.#closing = true;
    const held = this.#open.size;
    for (const socket of this.#open) socket.destroy();
    return {
      connections: this.#connections,
      held,
      ended: this.#ended,
      bytes: this.#bytes,
      notes: this.#notes,
      violations: this.#violations,
    };
  }

  #watch(socket: Socket): Socket {
    this.#open.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => {
      if (this.#open.delete(socket) && !this.#closing) this.#ended++;
    });
    return socket;
  }
}
