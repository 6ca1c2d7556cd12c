/** What a listener asks of the way behind it, and how the way says no. */
import type { Duplex } from "node:stream";
import type { ErrorCode } from "../../base/errors/catalogue.js";
import { DrawbridgeError } from "../../base/errors/error.js";

export interface Target {
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Leads to targets: through the tunnel, straight, or by way of a customer's proxy. */
export interface Way {
  /**
   * A stream to the target, paused, with the target's first bytes still in it, and able to end one direction alone where
   * the path can. Rejects with a WayError, or with the reason of `stop`.
   */
  open(target: Target, stop: AbortSignal): Promise<Duplex>;
}

/** What stood in the way, in terms that both SOCKS5 and HTTP have an answer for. */
export type Hindrance =
  /** The name has no address. */
  | "name"
  /** The target answered, with no. */
  | "refused"
  /** There is no route to the target's network. */
  | "network"
  /** The target cannot be reached for any other reason. */
  | "host"
  | "timeout"
  /** It would lead back to ourselves, or a rule forbids it. */
  | "forbidden"
  /** The proxy-server, its agents or the customer's proxy fail, whatever the target. */
  | "path";

export class WayError extends DrawbridgeError {
  readonly hindrance: Hindrance;

  constructor(hindrance: Hindrance, code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(code, message, options);
    this.hindrance = hindrance;
  }
}
