/** What every listener does for its clients, whatever they speak: dial for them, join the two ends, tell what happened. */
import type { Duplex } from "node:stream";
import { joinHostPort } from "../../base/address.js";
import { ShortLivedMap, ShortLivedSet } from "../../base/short-lived.js";
import { connectionClosed, type Outcome, type Wish, type WishDecided, wishDecided } from "./channels.js";
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

/** What a client came for, once its target is known; times by performance.now(). */
export interface Asked {
  readonly target: Target;
  readonly address: string;
  readonly frontend: Wish;
  readonly listener: string;
  readonly askedAt: number;
  /** 0 until something is dialled: an answer over a connection that was kept needs no number. */
  id: number;
  dialledAt: number;
  /** How long the target took; undefined while it has not been connected. */
  dialMs: number | undefined;
}

/** A client and its target. */
export interface JoinedPair {
  readonly relay: Relay;
  /** Kept when the pair is long over, so without the relay. */
  readonly info: Asked & { readonly openedAt: number };
}

/** A client that did not get what it came for. */
export interface Unserved {
  readonly outcome: Outcome;
  readonly error: string;
  readonly code?: string;
  /** Undefined when nobody found out what it wanted. */
  readonly asked?: Asked;
}

export class Desk {
  readonly traffic: Traffic = { toTarget: 0, fromTarget: 0 };
  readonly limits: Limits;
  readonly gate: Gate;
  readonly way: Pick<OpenWay, "open" | "wayForHttp">;
  readonly #source: object;
  readonly #listener: string;
  readonly #pairs = new ShortLivedSet<JoinedPair>();
  /** Never more than there are clients. */
  readonly #dials = new ShortLivedMap<number, Asked>();
  /** Told what is over with its whole life, by whoever keeps that; undefined: nobody does. */
  onEnded: ((pair: JoinedPair, error: string) => void) | undefined;
  /** The same for what never came about. */
  onUnserved: ((unserved: Unserved) => void) | undefined;

  constructor({ source, config, limits, gate, way }: DeskOptions) {
    this.#source = source;
    this.#listener = config.name;
    this.limits = limits;
    this.gate = gate;
    this.way = way;
  }

  asks(wish: Wish, target: Target): Asked {
    return {
      ...{ target, address: joinHostPort(target.host, target.port), frontend: wish, listener: this.#listener },
      ...{ askedAt: performance.now(), id: 0, dialledAt: 0, dialMs: undefined },
    };
  }

  /** Rejects with whatever the way rejects with. The dial ends with the client, but not with the end of what it sends. */
  async dial(asked: Asked, client: Duplex, open: (stop: AbortSignal) => Promise<Duplex>): Promise<Duplex> {
    const stop = new AbortController();
    const onClose = (): void => stop.abort(GONE);
    client.once("close", onClose);
    asked.id ||= this.gate.nextNumber();
    asked.dialledAt = performance.now();
    this.#dials.set(asked.id, asked);
    try {
      if (client.destroyed) throw GONE;
      const stream = await open(stop.signal);
      if (client.destroyed) {
        stream.destroy();
        throw GONE;
      }
      asked.dialMs = performance.now() - asked.dialledAt;
      return stream;
    } finally {
      client.off("close", onClose);
      if (asked.frontend === "upgrade" && asked.dialMs !== undefined) this.#waitForAnswer(asked, client);
      else this.#dials.delete(asked.id);
    }
  }

  /** Whether the protocol changes is for the target to say; until then the client has no connection. */
  #waitForAnswer(asked: Asked, client: Duplex): void {
    client.once("close", () => this.#dials.delete(asked.id));
  }

  /** A plain HTTP request is answered, not joined. */
  join(asked: Asked, client: Duplex, far: Duplex): void {
    const since = performance.now();
    const relay: Relay = new Relay(client, far, {
      traffic: this.traffic,
      idleTimeoutMs: this.limits.idleTimeoutMs,
      onEnd: ({ toTarget, fromTarget, error }) => {
        leave();
        this.onEnded?.(pair, error);
        connectionClosed.publish({
          source: this.#source,
          listener: this.#listener,
          target: asked.address,
          durationMs: performance.now() - since,
          bytesToTarget: toTarget,
          bytesFromTarget: fromTarget,
          error,
        });
      },
    });
    const pair: JoinedPair = { relay, info: { ...asked, openedAt: since } };
    const leave = this.#pairs.add(pair);
  }

  pairs(): IterableIterator<JoinedPair> {
    return this.#pairs[Symbol.iterator]();
  }

  /** Those whose targets are being dialled. */
  dials(): IterableIterator<Asked> {
    return this.#dials.values();
  }

  get dialling(): number {
    return this.#dials.size;
  }

  /** Joined pairs whose ends are not both closed. */
  get joined(): number {
    return this.#pairs.size;
  }

  established(asked: Asked): void {
    this.#dials.delete(asked.id);
    const { address: target, dialMs } = asked;
    const took = dialMs === undefined ? {} : { dialMs };
    this.#decided({ wish: asked.frontend, outcome: "established", error: "", target, ...took });
  }

  /** The dial failed, or the client left before it was done. */
  failed(asked: Asked, reason: unknown): void {
    this.#dials.delete(asked.id);
    const { outcome, text, code } =
      reason === GONE ? { outcome: "abandoned" as const, text: GONE.message } : failureOf(reason);
    this.#refused(asked.frontend, { asked, outcome, error: text, ...(code === undefined ? {} : { code }) });
  }

  turnedAway(wish: Wish, outcome: Outcome, error: string): void {
    this.#refused(wish, { outcome, error });
  }

  /** Cuts every joined pair, so that both peers notice. */
  destroy(): void {
    for (const { relay } of this.#pairs) relay.cut("the sidecar ended");
  }

  #refused(wish: Wish, unserved: Unserved): void {
    const { asked, ...decision } = unserved;
    this.#decided({ wish, ...decision, ...(asked === undefined ? {} : { target: asked.address }) });
    this.onUnserved?.(unserved);
  }

  #decided(decision: Omit<WishDecided, "source" | "listener">): void {
    wishDecided.publish({ source: this.#source, listener: this.#listener, ...decision });
  }
}
