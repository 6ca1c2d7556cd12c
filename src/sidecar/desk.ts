/** What every listener does for its clients, whatever they speak: dial for them, join the two ends, tell what happened. */
import type { Duplex } from "node:stream";
import { joinHostPort } from "../wire/address.js";
import { connectionClosed, type Outcome, type Wish, wishDecided } from "./channels.js";
import type { Limits, ListenerConfig } from "./config.js";
import type { Gate } from "./gate.js";
import { failureOf } from "./refusals.js";
import { Relay, type Traffic } from "./relay.js";
import type { OpenWay } from "./way/open-way.js";
import type { Target } from "./way.js";

/** Whoever left does not want the dial any more. */
const GONE = new Error("the client hung up");

export interface DeskOptions {
  readonly source: object;
  readonly config: ListenerConfig;
  readonly limits: Limits;
  readonly gate: Gate;
  readonly way: Pick<OpenWay, "open" | "wayForHttp">;
}

/** A plain HTTP request is answered, not joined. */
export type JoiningWish = Exclude<Wish, "forward">;

/** A client and its target; times by performance.now(). */
export interface JoinedPair {
  readonly relay: Relay;
  readonly id: number;
  readonly address: string;
  readonly frontend: JoiningWish;
  readonly listener: string;
  readonly askedAt: number;
  readonly dialledAt: number;
  readonly openedAt: number;
}

export interface Dialled {
  readonly stream: Duplex;
  readonly dialMs: number;
}

export class Desk {
  readonly traffic: Traffic = { toTarget: 0, fromTarget: 0 };
  readonly limits: Limits;
  readonly gate: Gate;
  readonly way: Pick<OpenWay, "open" | "wayForHttp">;
  readonly #source: object;
  readonly #listener: string;
  readonly #relays = new Map<Relay, JoinedPair>();
  #dialling = 0;
  /** Told what is over with its whole life, by whoever keeps that; undefined: nobody does. */
  onEnded: ((pair: JoinedPair, error: string) => void) | undefined;

  constructor({ source, config, limits, gate, way }: DeskOptions) {
    this.#source = source;
    this.#listener = config.name;
    this.limits = limits;
    this.gate = gate;
    this.way = way;
  }

  /** Rejects with whatever the way rejects with. The dial ends with the client, but not with the end of what it sends. */
  async dial(client: Duplex, open: (stop: AbortSignal) => Promise<Duplex>): Promise<Dialled> {
    const stop = new AbortController();
    const onClose = (): void => stop.abort(GONE);
    client.once("close", onClose);
    const since = performance.now();
    this.#dialling++;
    try {
      if (client.destroyed) throw GONE;
      const stream = await open(stop.signal);
      if (client.destroyed) {
        stream.destroy();
        throw GONE;
      }
      return { stream, dialMs: performance.now() - since };
    } finally {
      this.#dialling--;
      client.off("close", onClose);
    }
  }

  /** `dialMs`: how long the target took; undefined when a connection was used again. */
  join(client: Duplex, far: Duplex, wish: JoiningWish, target: Target, dialMs = 0): void {
    const since = performance.now();
    const address = joinHostPort(target.host, target.port);
    const relay: Relay = new Relay(client, far, {
      traffic: this.traffic,
      idleTimeoutMs: this.limits.idleTimeoutMs,
      onEnd: ({ toTarget, fromTarget, error }) => {
        if (this.onEnded !== undefined) this.onEnded(this.#relays.get(relay)!, error);
        this.#relays.delete(relay);
        connectionClosed.publish({
          source: this.#source,
          listener: this.#listener,
          target: address,
          durationMs: performance.now() - since,
          bytesToTarget: toTarget,
          bytesFromTarget: fromTarget,
          error,
        });
      },
    });
    const asked = since - dialMs;
    this.#relays.set(relay, {
      relay,
      ...{ id: this.gate.nextNumber(), address, frontend: wish, listener: this.#listener },
      ...{ askedAt: asked, dialledAt: asked, openedAt: since },
    });
  }

  pairs(): IterableIterator<JoinedPair> {
    return this.#relays.values();
  }

  /** Targets that are being dialled. */
  get dialling(): number {
    return this.#dialling;
  }

  /** Joined pairs whose ends are not both closed. */
  get joined(): number {
    return this.#relays.size;
  }

  established(wish: Wish, target: Target, dialMs?: number): void {
    this.#decided(wish, "established", { target, ...(dialMs === undefined ? {} : { dialMs }) });
  }

  /** The dial failed, or the client left before it was done. */
  failed(wish: Wish, target: Target, reason: unknown): void {
    if (reason === GONE) this.#decided(wish, "abandoned", { target, error: GONE.message });
    else {
      const { outcome, text, code } = failureOf(reason);
      this.#decided(wish, outcome, { target, error: text, ...(code === undefined ? {} : { code }) });
    }
  }

  turnedAway(wish: Wish, outcome: Outcome, error: string): void {
    this.#decided(wish, outcome, { error });
  }

  /** Cuts every joined pair, so that both peers notice. */
  destroy(): void {
    for (const relay of this.#relays.keys()) relay.cut("the sidecar ended");
  }

  #decided(
    wish: Wish,
    outcome: Outcome,
    { target, ...more }: { target?: Target; error?: string; code?: string; dialMs?: number },
  ): void {
    wishDecided.publish({
      source: this.#source,
      listener: this.#listener,
      wish,
      outcome,
      error: "",
      ...(target === undefined ? {} : { target: joinHostPort(target.host, target.port) }),
      ...more,
    });
  }
}
