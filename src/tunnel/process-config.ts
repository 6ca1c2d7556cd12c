/** The part of the configuration that a proxy-server and a proxy-agent have in common. */
import type { Endpoint } from "../base/http.js";
import type { MemoryLimits } from "./connection/budget.js";

export interface ProcessConfig {
  readonly health: Endpoint;
  readonly admin: Endpoint & {
    /** File with the bearer token that opens the admin API; empty: only /metrics (and profiling) is served. */
    readonly tokenFile: string;
    readonly profiling: boolean;
    /** Undefined: in the clear, and the API on loopback only. */
    readonly tls?: { readonly certFile: string; readonly keyFile: string };
  };
  readonly keepaliveMs: number;
  readonly limits: MemoryLimits;
  /** False: links do not remember their last packets. */
  readonly flightRecorder?: boolean;
  /** Where the last packets are written when a path fails or the process crashes; empty or undefined: nowhere. */
  readonly dumpDir?: string;
}
