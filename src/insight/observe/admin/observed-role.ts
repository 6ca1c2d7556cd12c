/** What the admin API asks of a role. Everything here is called only when somebody sends a request. */
import type { FlightHistory } from "../../../tunnel/link/flight-recorder.js";
import type { ProcessHistory } from "../history/process-history.js";
import type { Recent } from "../recent.js";
import type { RefusalLog } from "../refusals.js";
import type { CertificatesInUse } from "./certificates.js";
import type {
  AgentPeer,
  Forecast,
  GatheredFacts,
  PathHealth,
  ProcessInfo,
  ServerPeer,
  Totals,
  TunnelRow,
  UnusedFiles,
} from "./contract.js";

type OfEveryRole = "apiVersion" | "version" | "instance" | "startedAt" | "now";

export interface ObservedRole {
  process(): Omit<ProcessInfo, OfEveryRole>;
  totals(): Omit<Totals, "at">;
  certificates?(): readonly CertificatesInUse[];
  unusedFiles?(): readonly UnusedFiles[];
  readonly refusals?: RefusalLog;
  /** Of its dials and peers. */
  readonly history?: ProcessHistory;
  path?(): PathHealth | undefined;
  /** The last packets of its links. */
  readonly flights?: FlightHistory | undefined;
  servers?(): Iterable<ServerPeer>;
  agents?(): Iterable<AgentPeer>;
  /** Role `overview`: facts about others; calling this makes it ask for newer ones. */
  gathered?(): GatheredFacts;
  /** Those being dialled included. */
  tunnels?(): Iterable<LiveTunnel>;
  /** The last ones that ended or failed. */
  readonly ended?: Recent<TunnelRow>;
  /** What would become of a dial. */
  explain?(target: string): Forecast | Promise<Forecast>;
  /** The three return false when there is no such thing (any more). */
  drainAgent?(key: number): boolean;
  /** Measures the round trip of the agent's link anew; rejects when no answer comes. */
  pingAgent?(key: number): Promise<boolean>;
  drain?(): boolean;
}

/** A tunnel at this moment: what shows whether it has changed costs nothing, the whole row is made on demand. */
export interface LiveTunnel
  extends Pick<TunnelRow, "id" | "target" | "state" | "bytesToTarget" | "bytesFromTarget" | "queuedBytes" | "paused"> {
  readonly agentKey?: number | undefined;
  readonly dialId?: bigint | string | undefined;
  describe(): TunnelRow;
  /** Closes both ends after what is queued was delivered; false while it is dialled. */
  close(reason: string): boolean;
}
