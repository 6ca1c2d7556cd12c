/** The sidecar itself: its listeners, and for each the way behind it. */
import { listening } from "../events/channels.js";
import { fallbackChanged, routeTaken } from "./channels.js";
import type { SidecarConfig } from "./config.js";
import { Gate } from "./gate.js";
import { Listener } from "./listeners/listener.js";
import { Readiness } from "./readiness.js";
import { type OpenWay, openWay } from "./way/open-way.js";
import type { OpenServices, WayParts } from "./way/parts.js";

/** For tests: a way without a tunnel behind it. */
export type WayMaker = (config: Parameters<typeof openWay>[0], parts: WayParts) => OpenWay;

export class Sidecar {
  readonly gate: Gate;
  readonly readiness: Readiness;
  readonly listeners: readonly Listener[];
  readonly config: SidecarConfig;
  #draining = false;
  readonly #ways: readonly OpenWay[];

  /** `openServices`: used when names are resolved by Services, or the cluster's DNS is found by its Service. */
  constructor(config: SidecarConfig, openServices?: OpenServices, makeWay: WayMaker = openWay) {
    const { listeners, limits, probe } = config;
    this.config = config;
    this.gate = new Gate(limits.maxConnections);
    const ways = listeners.map(({ name, way }) => makeWay(way, this.#parts(name, openServices)));
    this.#ways = ways;
    this.listeners = listeners.map((config, at) => {
      return new Listener({ source: this, config, limits, gate: this.gate, way: ways[at]! });
    });
    const probed = listeners.map(({ name }, at) => ({ listener: name, way: ways[at]! }));
    this.readiness = new Readiness(this, probed, probe);
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Resolves to the bound addresses, in the listeners' order. */
  async start(): Promise<string[]> {
    const addresses: string[] = [];
    for (const listener of this.listeners) {
      const address = await listener.open();
      listening.publish({ source: this, what: `${listener.config.protocol} proxy`, address });
      addresses.push(address);
    }
    this.readiness.start();
    return addresses;
  }

  /** Resolves to whether every client was done in time. */
  async drain(withinMs: number): Promise<boolean> {
    this.#draining = true;
    this.readiness.stop("the sidecar is shutting down");
    for (const listener of this.listeners) listener.drain();
    return await this.gate.emptied(withinMs);
  }

  destroy(): void {
    this.readiness.stop("the sidecar has ended");
    for (const listener of this.listeners) listener.destroy();
    this.gate.destroy();
    for (const way of this.#ways) way.close();
  }

  #parts(listener: string, openServices: OpenServices | undefined): WayParts {
    return {
      ...(openServices === undefined ? {} : { openServices }),
      onRoute: (route) => routeTaken.publish({ source: this, listener, route }),
      onFallback: (active, why) => fallbackChanged.publish({ source: this, listener, active, why }),
    };
  }
}
