/** The configuration of a proxy-agent. The command line builds it (cli/), embedders may build it by hand. */
import type { ProcessConfig } from "../process-config.js";

export const READY_WITH = ["any", "all"] as const;
export type ReadyWith = (typeof READY_WITH)[number];

export interface AgentConfig extends ProcessConfig {
  readonly agentId: string;
  /** URL query as sent to servers, e.g. `ipv4=10.0.0.1&default-route=true`. */
  readonly identifiers: string;
  /** Every proxy-server address; each may be a load balancer with several servers behind it. */
  readonly servers: readonly { readonly host: string; readonly port: number }[];
  readonly tls: {
    readonly caFile: string;
    /** Both empty: no client certificate. */
    readonly certFile: string;
    readonly keyFile: string;
    /** Offered before `h2`. */
    readonly alpn: readonly string[];
  };
  /** Empty: no token. Read again for every connection. */
  readonly tokenFile: string;
  readonly syncIntervalMs: number;
  readonly syncIntervalCapMs: number;
  readonly probeIntervalMs: number;
  readonly syncForever: boolean;
  /** `any` server makes it ready, as upstream has it and by default; `all`: as many as it looks for. */
  readonly readyWith?: ReadyWith;
  /** Servers to connect to: as counted by their leases, else as the last server said; `max`: the larger of both. */
  readonly serverCountSource: "default" | "max";
  /** Upstream's --xfr-channel-size; kept for its log line, our bounds are in bytes. */
  readonly xfrChannelSize: number;
  readonly warnOnChannelLimit: boolean;
  /** How long a server may take to answer Connect with its headers. */
  readonly headerTimeoutMs: number;
  /** After the first signal: exit once idle, at the latest after this; 0 waits for the second signal as upstream does. */
  readonly drainTimeoutMs: number;
  /** Streams end with this agent's certificate, and none is asked for until there is a new one. */
  readonly timeBoxed: boolean;
  /** Destination rules as written on the command line; see agent/policy.ts for the grammar. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}
