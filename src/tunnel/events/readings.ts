/** Values that a scrape reads from a running server or agent. None of them is maintained for metrics alone. */
import type { DurationCounts } from "../../base/metrics/registry.js";
import type { SegmentCounters } from "../link/packet-meter.js";

/** Upper bounds in seconds, as upstream has them. */
export const LATENCY_BUCKETS: readonly number[] = [1e-6, 1e-5, 1e-4, 0.005, 0.025, 0.1, 0.5, 2.5, 12.5];

/** A service method that this process cannot serve may be left out; upstream does not export it then either. */
export interface PerServiceMethod {
  readonly Proxy?: number;
  readonly Connect?: number;
}

export interface AgentLoad {
  readonly agentId: string;
  readonly tunnels: number;
  readonly queuedBytes: number;
}

export interface CommonReadings {
  /** The same segment may come up several times; the counts are added. */
  segments(): Iterable<readonly [segment: string, counters: SegmentCounters]>;
  /** Bytes waiting for slow readers in the whole process. */
  queuedBytes(): number;
}

export interface ServerReadings extends CommonReadings {
  /** Open RPCs. */
  grpcConnections(): PerServiceMethod;
  /** CONNECT requests in progress, established tunnels included. */
  httpConnections(): number;
  pendingDials(): number;
  establishedTunnels(): number;
  /** Keys in each strategy's index, in the order of the strategies. */
  readyBackends(): Iterable<readonly [strategy: string, count: number]>;
  readyBackendConnections(): number;
  /** Streams that are paused because what they sent has not been handled yet. */
  fullReceiveChannels(): PerServiceMethod;
  /** How long the bytes of one turn took to be handed to frontends. */
  readonly frontendWrites: DurationCounts;
  /** One entry per agent stream; streams of the same agent are added up. */
  agents(): Iterable<AgentLoad>;
  /** The state of every agent's path; absent without a watchdog. */
  paths?(): Iterable<string>;
}

export interface AgentReadings extends CommonReadings {
  openServerConnections(): number;
  knownServerCount(): number;
  openEndpointConnections(): number;
}
