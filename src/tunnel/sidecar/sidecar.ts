/** The sidecar itself: its listeners, and for each its router. */
import { endsDone } from "../../base/cut-socket.js";
import { type Runtime, systemRuntime } from "../../base/runtime.js";
import { listening } from "../events/channels.js";
import { fallbackChanged, routeTaken } from "./channels.js";
import type { RoutingConfig, SidecarConfig } from "./config.js";
import { ConnectionLimit } from "./connection-limit.js";
import { ProxyListener } from "./listeners/listener.js";
import { TunnelReadiness } from "./readiness.js";
import { type OpenServices, type Router, type RouterParts, TunnelRouter } from "./routing/router.js";

/** How long the last bytes of connections may take that are cut because this process ends. */
const CUT_WITHIN_MS = 1_000;

/** Replaced by tests: a router without a tunnel behind it. */
export type RouterFactory = (config: RoutingConfig, parts: RouterParts) => Router;

export class Sidecar {
  readonly limit: ConnectionLimit;
  readonly readiness: TunnelReadiness;
  readonly listeners: readonly ProxyListener[];
  readonly config: SidecarConfig;
  #draining = false;
  readonly #routers: readonly Router[];
  readonly #runtime: Runtime;

  /** `openServices`: used when names are resolved by Services, or the cluster's DNS is found by its Service. */
  constructor(
    config: SidecarConfig,
    openServices?: OpenServices,
    makeRouter: RouterFactory = (routing, parts) => new TunnelRouter(routing, parts),
    runtime: Runtime = systemRuntime,
  ) {
    const { listeners, limits, probe } = config;
    this.config = config;
    this.#runtime = runtime;
    this.limit = new ConnectionLimit(limits.maxConnections);
    this.#routers = listeners.map(({ name: listener, routing }) =>
      makeRouter(routing, {
        openServices,
        onRoute: (route) => routeTaken.publish({ source: this, listener, route }),
        onFallback: (active, why) => fallbackChanged.publish({ source: this, listener, active, why }),
      }),
    );
    this.listeners = listeners.map((config, at) => {
      const router = this.#routers[at]!;
      return new ProxyListener({ source: this, config, limits, limit: this.limit, router, runtime });
    });
    const probed = listeners.map(({ name }, at) => [name, this.#routers[at]!] as const);
    this.readiness = new TunnelReadiness(this, probed, probe);
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
    return await this.limit.drained(withinMs);
  }

  /** Ends at once, except that both ends of every connection learn within a second that it is cut. */
  async stop(): Promise<void> {
    for (const listener of this.listeners) listener.destroy();
    await endsDone(this.#runtime, CUT_WITHIN_MS);
    this.destroy();
  }

  destroy(): void {
    this.readiness.stop("the sidecar has ended");
    for (const listener of this.listeners) listener.destroy();
    this.limit.destroy();
    for (const router of this.#routers) router.close();
  }
}
