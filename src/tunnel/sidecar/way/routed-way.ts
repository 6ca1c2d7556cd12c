/** Chooses, for each target, between the tunnel, the customer's proxy behind it and a connection straight from here. */
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { withinBounds } from "../../client/errors.js";
import { parseTarget } from "../../client/frontend.js";
import { noProxyRules } from "../../wire/no-proxy.js";
import { type Target, type Way, WayError } from "../way.js";
import { isCloudApi } from "./cloud.js";
import type { DirectDialer } from "./direct.js";
import { describeTarget, proxyError, tunnelError } from "./errors.js";
import type { FallbackState } from "./fallback-state.js";
import { firstThatOpens } from "./first-that-opens.js";
import type { HttpHop, HttpWay } from "./http-way.js";
import type { LoopGuard } from "./loop-guard.js";
import type { Route } from "./parts.js";
import { connectThroughProxy, secureProxy } from "./proxy-chain.js";
import type { HttpProxy } from "./proxy-url.js";
import type { NameResolver } from "./resolve.js";
import type { ProxyTrust } from "./trust.js";
import type { Tunnels } from "./tunnels.js";

export interface RoutedWayParts {
  readonly tunnels: Tunnels;
  readonly names: NameResolver;
  readonly fallback: FallbackState | undefined;
  readonly direct: DirectDialer;
  readonly guard: LoopGuard;
  readonly trust: ProxyTrust;
  readonly customer: {
    readonly httpProxy: HttpProxy | undefined;
    readonly httpsProxy: HttpProxy | undefined;
    readonly noProxy: string;
  };
  readonly cloud: { readonly bypass: boolean; readonly exclude: ReadonlySet<string> };
  readonly openMs: number;
  /** What a probe must connect to; undefined: any answer from an agent about `anywhere` will do. */
  readonly probe: Target | undefined;
  /** Something behind the tunnel that is likely to be there. */
  readonly anywhere: (stop: AbortSignal) => Promise<Target>;
  readonly onRoute: ((route: Route, target: Target) => void) | undefined;
}

/** DNS must go by the tunnel even while that is believed broken: that is how it is found to work again. */
const DNS_PORT = 53;

export class RoutedWay implements Way, HttpWay {
  readonly #parts: RoutedWayParts;
  readonly #customerBypass: (host: string, port: number) => boolean;

  constructor(parts: RoutedWayParts) {
    this.#parts = parts;
    this.#customerBypass = noProxyRules(parts.customer.noProxy);
  }

  async open(asked: Target, stop: AbortSignal): Promise<Duplex> {
    return await this.#bounded(asked, stop, async (target, until) => {
      const { httpsProxy } = this.#parts.customer;
      const kind = this.#kindOf(target, httpsProxy);
      await this.#parts.guard.check(target, until);
      if (kind !== "customer-proxy") return await this.#straight(kind, target, until);
      const proxied = await this.#toProxy(httpsProxy!, until);
      return this.#took("customer-proxy", target, await connectThroughProxy(proxied, httpsProxy!, target, until));
    });
  }

  wayForHttp(target: Target): HttpHop {
    const { httpProxy } = this.#parts.customer;
    const kind = this.#kindOf(target, httpProxy);
    if (kind !== "customer-proxy") {
      return {
        key: `${kind} ${describeTarget(target)}`,
        form: "origin",
        proxyAuthorization: undefined,
        open: (stop) =>
          this.#bounded(target, stop, async (valid, until) => {
            await this.#parts.guard.check(valid, until);
            return await this.#straight(kind, valid, until);
          }),
      };
    }
    return {
      key: `${kind} ${describeTarget(httpProxy!)}`,
      form: "absolute",
      proxyAuthorization: httpProxy!.authorization,
      open: (stop) =>
        this.#bounded(httpProxy!, stop, async (_, until) => {
          return this.#took("customer-proxy", target, await this.#toProxy(httpProxy!, until));
        }),
    };
  }

  async probe(signal: AbortSignal): Promise<void> {
    const { tunnels, probe, anywhere } = this.#parts;
    try {
      const stream = await this.#bounded(probe ?? (await anywhere(signal)), signal, (target, until) => {
        return probe === undefined ? tunnels.dial(target, undefined, until) : this.#throughTunnel(target, until);
      });
      stream.destroy();
    } catch (reason) {
      const answeredByAgent =
        reason instanceof WayError && reason.hindrance !== "path" && reason.hindrance !== "timeout";
      if (probe !== undefined || !answeredByAgent) throw reason;
    }
  }

  /** The deadline, and one family of errors, for everything that opens something. */
  async #bounded(
    asked: Target,
    stop: AbortSignal,
    run: (target: Target, until: AbortSignal) => Promise<Duplex>,
  ): Promise<Duplex> {
    try {
      const target = checked(asked);
      const bounds = { signal: stop, timeoutMs: this.#parts.openMs };
      return await withinBounds(describeTarget(target), bounds, (until) => run(target, until));
    } catch (reason) {
      stop.throwIfAborted();
      throw tunnelError(reason);
    }
  }

  #kindOf({ host, port }: Target, proxy: HttpProxy | undefined): Exclude<Route, "fallback"> {
    const { bypass, exclude } = this.#parts.cloud;
    if (bypass && isCloudApi(host, exclude)) return "direct";
    return proxy === undefined || this.#customerBypass(host, port) ? "tunnel" : "customer-proxy";
  }

  async #straight(kind: "direct" | "tunnel", target: Target, stop: AbortSignal): Promise<Duplex> {
    if (kind === "direct") return this.#took("direct", target, await this.#parts.direct.open(target, stop));
    return await this.#tunnelOrFallback(target, stop);
  }

  async #toProxy(proxy: HttpProxy, stop: AbortSignal): Promise<Duplex> {
    let stream: Duplex;
    try {
      stream = await this.#tunnelOrFallback(proxy, stop, false);
    } catch (reason) {
      stop.throwIfAborted();
      const { hindrance, message } = tunnelError(reason);
      const what = `of the customer cannot be reached: ${message.replace(/\.$/, "")}`;
      throw proxyError(hindrance === "forbidden" ? hindrance : "path", proxy, what, { cause: reason });
    }
    return await secureProxy(stream, proxy, this.#parts.trust, stop);
  }

  async #tunnelOrFallback(target: Target, stop: AbortSignal, tell = true): Promise<Duplex> {
    const { fallback, direct, names } = this.#parts;
    const goDirect = async (): Promise<Duplex> => {
      return this.#took("fallback", target, await direct.openPast(target, stop), tell);
    };
    const mayFallBack = fallback !== undefined && target.port !== DNS_PORT;
    if (mayFallBack && fallback.active && isIP(target.host) !== 0) {
      return (await this.#retryTunnel(target, fallback, stop, tell)) ?? (await goDirect());
    }
    try {
      return this.#took("tunnel", target, await this.#throughTunnel(target, stop), tell);
    } catch (reason) {
      if (reason instanceof HereOnly) return await goDirect();
      stop.throwIfAborted();
      const { hindrance, code } = tunnelError(reason);
      const couldHide = hindrance === "path" && code !== "DB_SIDECAR_NAME" && isIP(target.host) === 0;
      if (!mayFallBack || !couldHide) throw reason;
    }
    // A remembered answer has hidden that the cluster's DNS is out of reach, too.
    names.forget(target.host);
    try {
      return this.#took("tunnel", target, await this.#throughTunnel(target, stop), tell);
    } catch (reason) {
      if (reason instanceof HereOnly) return await goDirect();
      throw reason;
    }
  }

  /** Addresses need no name resolved, so they find out in their own way whether the tunnel works again. */
  async #retryTunnel(
    target: Target,
    fallback: FallbackState,
    stop: AbortSignal,
    tell: boolean,
  ): Promise<Duplex | undefined> {
    const end = fallback.begin();
    if (end === undefined) return undefined;
    try {
      const stream = await this.#throughTunnel(target, stop);
      fallback.markSuccess();
      return this.#took("tunnel", target, stream, tell);
    } catch (reason) {
      stop.throwIfAborted();
      const { hindrance } = tunnelError(reason);
      if (hindrance === "path" || hindrance === "timeout") return undefined;
      fallback.markSuccess();
      throw reason;
    } finally {
      end();
    }
  }

  /** Rejects with HereOnly when the name is to be dialled from here. */
  async #throughTunnel(target: Target, stop: AbortSignal): Promise<Duplex> {
    const { names, tunnels, guard } = this.#parts;
    if (isIP(target.host) !== 0) return await tunnels.dial(target, undefined, stop);
    const found = await names.resolve(target.host, stop);
    const byName = found.kind === "name" || (found.kind === "here" && target.port === DNS_PORT);
    if (byName) return await tunnels.dial(target, undefined, stop);
    if (found.kind !== "addresses") throw new HereOnly(target);
    return await firstThatOpens(found.addresses, async (host) => {
      const at = { host, port: target.port };
      await guard.check(at, stop);
      return await tunnels.dial(at, target.host, stop);
    });
  }

  #took(route: Route, target: Target, stream: Duplex, tell = true): Duplex {
    if (tell) this.#parts.onRoute?.(route, target);
    return stream;
  }
}

/** The tunnel is not asked for this name now. */
class HereOnly extends WayError {
  constructor(target: Target) {
    super("path", "DB_FRONTEND", `the tunnel is out of reach, and ${describeTarget(target)} is dialled from here.`);
  }
}

/** In the one form that every step takes, whoever asks. */
function checked(target: Target): Target {
  return parseTarget(describeTarget(target));
}
