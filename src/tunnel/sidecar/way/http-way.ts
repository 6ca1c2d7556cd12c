/** How a plain HTTP request (no CONNECT) gets to its target, for the listener that forwards it. */
import type { Duplex } from "node:stream";
import type { Target } from "../way.js";

export interface HttpHop {
  /** Connections may be kept and used again for hops with the same key, and for no others. */
  readonly key: string;
  /** `absolute` towards a proxy (`GET http://host/path`), `origin` towards the target itself (`GET /path`). */
  readonly form: "absolute" | "origin";
  /** The value of Proxy-Authorization that the hop's proxy wants; undefined: send none. */
  readonly proxyAuthorization: string | undefined;
  /** A new connection of this hop; rejects as `Way.open` does. */
  open(stop: AbortSignal): Promise<Duplex>;
}

export interface HttpWay {
  /** Decides without dialling. Port 80 must be filled in already where the request names none. */
  wayForHttp(target: Target): HttpHop;
}
