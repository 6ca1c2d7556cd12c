/** Listeners and connections of the simulated world, and what can happen to them. */
import type { OnReadOpts } from "node:net";
import type { NetworkPlan } from "../types.js";
import type { Host } from "../world/host.js";
import type { World } from "../world/world.js";
import { SimSocket } from "./socket.js";
import { Wire, type WireOptions } from "./wire.js";

export interface ConnectOptions {
  readonly allowHalfOpen?: boolean | undefined;
  readonly encrypted?: boolean | undefined;
  /** A Unix socket, which has no ports and cannot be reset. */
  readonly isUnix?: boolean | undefined;
  readonly onread?: OnReadOpts | undefined;
}

export interface SimListener {
  readonly host: Host;
  readonly allowHalfOpen: boolean;
  readonly accept: (socket: SimSocket, connection: SimConnection) => void;
  /** The first packet of each connection is lost, and the next one is sent so much later. */
  readonly lateMs?: number | undefined;
}

/** Nobody listens there: those who connect get no answer, or hear that there is no way. */
type Nobody = "silent" | "unreachable";
export type Answer = SimListener | Nobody | undefined;

export class SimConnection {
  readonly from: string;
  readonly to: string;
  readonly near: SimSocket;
  readonly far: SimSocket;
  readonly there: Wire;
  readonly back: Wire;

  constructor(from: string, to: string, near: SimSocket, far: SimSocket, there: Wire, back: Wire) {
    this.from = from;
    this.to = to;
    this.near = near;
    this.far = far;
    this.there = there;
    this.back = back;
  }

  get isOver(): boolean {
    return this.near.destroyed && this.far.destroyed;
  }

  /** Something between the two ends it. */
  cut(how: "fin" | "rst" | "silence"): void {
    if (how === "silence") {
      this.there.silent = true;
      this.back.silent = true;
      return;
    }
    for (const wire of [this.there, this.back]) {
      if (how === "rst") wire.reset();
      else wire.forgeFin();
    }
  }

  stall(untilMs: number): void {
    this.there.stall(untilMs);
    this.back.stall(untilMs);
  }
}

export class Network {
  readonly connections = new Set<SimConnection>();
  /** Sockets that wait for an answer which does not come. */
  readonly unanswered = new Set<SimSocket>();
  readonly #world: World;
  readonly #plan: NetworkPlan;
  readonly #listeners = new Map<string, Answer>();
  readonly #stalls = new Map<string, number>();
  readonly #refusals = new Map<string, number>();
  /** By who connects where: how often it has. What others do changes nothing about a connection. */
  readonly #counts = new Map<string, number>();

  constructor(world: World, plan: NetworkPlan) {
    this.#world = world;
    this.#plan = plan;
  }

  listen(address: string, listener: SimListener | Nobody): () => void {
    this.#listeners.set(address, listener);
    return () => {
      if (this.#listeners.get(address) === listener) this.#listeners.delete(address);
    };
  }

  connect(host: Host, address: string, options: ConnectOptions = {}): SimSocket {
    const world = this.#world;
    const pair = `${host.name} to ${address}`;
    const count = (this.#counts.get(pair) ?? 0) + 1;
    this.#counts.set(pair, count);
    const random = world.random(`connection from ${pair} ${count}`);
    const { latencyMs, bufferBytes, segmentBytes } = this.#plan;
    const wireOptions: WireOptions = {
      latencyMs: random.between(...latencyMs),
      bufferBytes: random.scaled(...bufferBytes),
      segmentBytes: random.scaled(...segmentBytes),
    };
    const near = new SimSocket(host, { ...options, connecting: true });
    const dialled = this.#listeners.get(address);
    const lateMs = typeof dialled === "object" ? (dialled.lateMs ?? 0) : 0;
    const tripMs = 2 * wireOptions.latencyMs + lateMs;
    // As the kernel does it: the connection is there before the process has accepted it.
    world.after(tripMs, "connect", () => {
      if (near.destroyed || !host.alive) return;
      const listener = this.#listeners.get(address);
      if (listener === "silent") {
        this.unanswered.add(near);
        return;
      }
      if (listener === "unreachable") {
        host.after(0, "no route", () => near.refused("EHOSTUNREACH", address));
        return;
      }
      if (listener === undefined || !listener.host.alive || this.#isRefused(address)) {
        host.after(0, "refused", () => near.refused("ECONNREFUSED", address));
        return;
      }
      const { allowHalfOpen, accept } = listener;
      // Whether a connection is TLS, both ends know.
      const far = new SimSocket(listener.host, { allowHalfOpen, encrypted: options.encrypted });
      if (options.isUnix !== true) {
        for (const socket of [near, far]) {
          socket.localPort = 1;
          socket.remotePort = 1;
        }
      }
      const there = new Wire(world, random, wireOptions);
      const back = new Wire(world, random, wireOptions);
      const connection = new SimConnection(host.name, listener.host.name, near, far, there, back);
      const stalledUntil = this.#stalls.get(pairOf(connection.from, connection.to)) ?? 0;
      connection.stall(stalledUntil);
      this.connections.add(connection);
      near.plug(back, there);
      far.plug(there, back);
      host.after(0, "connected", () => near.connected());
      listener.host.after(0, "accept", () => {
        far.remoteAddress = "10.9.9.9";
        accept(far, connection);
        far.accepted();
      });
    });
    return near;
  }

  /** Of those who have connected. */
  farEndOf(socket: SimSocket): SimSocket | undefined {
    for (const { near, far } of this.connections) if (near === socket) return far;
    return undefined;
  }

  /** Where this process takes connections. */
  *addressesOf(host: Host): Generator<string> {
    for (const [address, listener] of this.#listeners) {
      if (typeof listener === "object" && listener.host === host) yield address;
    }
  }

  /** How often anybody has tried to connect to this address. */
  tries(address: string): number {
    let tries = 0;
    for (const [pair, count] of this.#counts) if (pair.endsWith(` to ${address}`)) tries += count;
    return tries;
  }

  /** Between two hosts, those there are now. */
  between(one: string, two: string): SimConnection[] {
    return [...this.connections].filter(({ from, to }) => (from === one && to === two) || (from === two && to === one));
  }

  /** The same for connections from now on. */
  stall(one: string, two: string, untilMs: number): void {
    this.#stalls.set(pairOf(one, two), untilMs);
    for (const connection of this.between(one, two)) connection.stall(untilMs);
  }

  /** Connections to addresses that begin so are refused until then. */
  refuse(prefix: string, untilMs: number): void {
    this.#refusals.set(prefix, untilMs);
  }

  #isRefused(address: string): boolean {
    for (const [prefix, untilMs] of this.#refusals)
      if (address.startsWith(prefix) && this.#world.now < untilMs) return true;
    return false;
  }

  /** As SIGKILL does: the process is gone, and the kernel closes everything that it had open. */
  kill(host: Host): void {
    host.kill();
    for (const { near, far } of this.connections) {
      if (near.host === host) near.closeKernel();
      if (far.host === host) far.closeKernel();
    }
    for (const [address, listener] of this.#listeners) {
      if (typeof listener === "object" && listener.host === host) this.#listeners.delete(address);
    }
  }

  /** Forgets connections that both ends have closed. */
  tidy(): void {
    for (const connection of this.connections) if (connection.isOver) this.connections.delete(connection);
  }
}

const pairOf = (one: string, two: string): string => (one < two ? `${one} ${two}` : `${two} ${one}`);
