/** What a way is made with besides its configuration: things that tests replace and listeners share. */
import type { Duplex } from "node:stream";
import type { Dialer } from "../../client/dial.js";
import type { Target } from "../way.js";
import type { WayConfig } from "./config.js";
import type { LookUpHere } from "./here-names.js";
import type { ServiceAddresses } from "./service-names.js";

/** Which way a connection took. */
export type Route = "tunnel" | "customer-proxy" | "direct" | "fallback";

export type OpenServices = (access: WayConfig["resolution"]["kube"]) => ServiceAddresses;

export interface WayParts {
  /** Milliseconds that only ever grow. */
  readonly now?: () => number;
  /** Dials through the tunnel, instead of the configuration's frontends; not closed with the way. */
  readonly dialer?: Dialer;
  /** Every address of a name by the system's resolver; rejects with ENOTFOUND or ENODATA when there is none. */
  readonly lookup?: LookUpHere;
  /** A TCP connection from here, half-open allowed, with a listener for its errors. */
  readonly connect?: (target: Target, stop: AbortSignal) => Promise<Duplex>;
  /** Looks up Services with that access to the cluster's API; closed with the way. */
  readonly openServices?: OpenServices;
  /** Addresses of this host's interfaces, for listeners on every address. */
  readonly localAddresses?: () => readonly string[];
  /** Told of every connection made. */
  readonly onRoute?: (route: Route, target: Target) => void;
  /** Told when the fallback begins, with the reason, and when it ends. */
  readonly onFallback?: (active: boolean, why: string) => void;
}
