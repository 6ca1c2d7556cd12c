import type { Scope } from "../../test/support/processes/scope.js";
import type { Ground } from "../contenders/ground.js";
import type { Ends } from "./ends.js";

/** What differs in kind between tunnels, so that nobody takes a figure for more than it says. */
export interface Kind {
  /** Reverse: the end beside the target dials, and nothing has to be open there. Forward: it is dialled. */
  readonly direction: "reverse" | "forward";
  /** Multiplexed: all callers share one connection between the ends. */
  readonly connections: "multiplexed" | "one for each caller";
  /** What is encrypted, and with what. */
  readonly encryption: string;
  /** Who proves who they are between the ends. */
  readonly authentication: string;
  /** How the driver comes in. */
  readonly entrance: "CONNECT over a Unix socket" | "Unix socket" | "TCP";
  /** What the caller may reach through it. */
  readonly targets: "any, asked for by each caller" | "one, from the configuration";
}

/** One of the things that are compared. */
export interface Tunnel {
  /** For --only. */
  readonly name: string;
  /** In tables and pictures. */
  readonly title: string;
  /** None for what is no tunnel at all. */
  readonly kind?: Kind;
  /** Why it is left out, with what would bring it; undefined when it can be started. */
  problem(): string | undefined;
  version(): string;
  /** Starts both ends, which the scope closes. */
  start(scope: Scope, ground: Ground): Promise<Ends>;
}

/** Those that ours is ranked among: the same job done in the same manner. */
export const isSameKind = ({ kind }: { readonly kind?: Kind }): boolean =>
  kind?.direction === "reverse" && kind.connections === "multiplexed";
