/** The message of each channel. Counts and durations are plain numbers; nothing here may hold a secret. */

import type { Sourced } from "../../base/channel.js";
import type { ServerLink } from "../agent/server-link.js";
import type { DialFacts, Tunnel } from "../connection/tunnel.js";
import type { AgentLink } from "../server/agents/agent-link.js";
import type { FrontendMode } from "../server/config.js";
import type { Dial } from "../server/dial.js";
import type { ConnectId, DialId } from "../wire/packet.js";
import type { ChoiceExplanation } from "./facts.js";

/** How a dial ended at the server; every failure but `established` is a value of upstream's `reason` label. */
export type ServerDialOutcome =
  | "established"
  | "no_agent"
  | "error_response"
  | "unrecognized_response"
  | "send_rsp"
  | "backend_close"
  | "backend_dial_timeout"
  | "frontend_close";

export interface ServerDialEnded extends Sourced {
  /** Absent for an answer that no dial waited for. */
  readonly dial?: Dial;
  readonly frontend: FrontendMode;
  readonly address: string;
  readonly agentId?: string;
  readonly connectId?: ConnectId;
  readonly dialId: DialId;
  readonly outcome: ServerDialOutcome;
  /** Empty when established. */
  readonly error: string;
  readonly durationMs: number;
  /** Under which the refusal's whole explanation is kept. */
  readonly referenceId?: string;
}

export interface ServerTunnelClosed extends Sourced {
  readonly link: AgentLink;
  readonly tunnel: Tunnel;
  readonly frontend: FrontendMode;
  readonly address: string;
  readonly agentId: string;
  readonly connectId: ConnectId;
  readonly durationMs: number;
  readonly bytesToAgent: number;
  readonly bytesToClient: number;
  readonly reason: string;
}

export interface ServerAgentConnected extends Sourced {
  readonly agentId: string;
  /** The identifiers as the agent sent them. */
  readonly identifiers: string;
  /** The server's own number for this stream; agent ids are not unique. */
  readonly stream: number;
  readonly remote: string;
  /** Whether the agent speaks drawbridge's additions. */
  readonly drawbridge: boolean;
  /** The name in its certificate or token. */
  readonly principal?: string;
}

export interface ServerAgentDisconnected extends Sourced {
  readonly agentId: string;
  readonly stream: number;
  readonly reason: string;
}

export interface ServerAgentDraining extends Sourced {
  readonly agentId: string;
  readonly stream: number;
}

export interface ServerAgentRejected extends Sourced {
  readonly remote: string;
  readonly agentId?: string;
  readonly error: string;
}

export interface ServerRefused extends Sourced {
  readonly referenceId: string;
  readonly address: string;
  /** Strategies tried, agents considered, why each was passed over: printed as JSON, never shown to API users. */
  readonly explanation: Partial<ChoiceExplanation>;
}

/** The watchdog probed an agent's path. */
export interface ServerPathChecked extends Sourced {
  readonly agentId: string;
  readonly stream: number;
  /** Failures in a row; 0 when everything came back. */
  readonly failures: number;
  /** The number of failures before. */
  readonly failuresBefore: number;
  /** Present when everything came back. */
  readonly roundTripMs?: number;
  /** Present when it did not. */
  readonly error?: string;
}

/** The watchdog ended a stream on which nothing moved any more. */
export interface ServerLinkRecycled extends Sourced {
  readonly agentId: string;
  readonly stream: number;
  readonly failures: number;
  readonly error: string;
}

export type Segment = "from_client" | "to_client" | "from_agent" | "to_agent";

export interface StreamError extends Sourced {
  readonly segment: Segment;
  /** gRPC's name of the status, e.g. `Unavailable`. */
  readonly code: string;
  /** The packet that could not be sent, or `Unknown` on receive errors. */
  readonly packetType: string;
}

export interface AgentServerConnected extends Sourced {
  readonly serverId: string;
  readonly address: string;
  readonly serverCount: number;
}

export interface AgentServerDisconnected extends Sourced {
  readonly serverId: string;
  readonly address: string;
  readonly reason: string;
}

export interface AgentServerConnectFailed extends Sourced {
  readonly address: string;
  readonly error: string;
}

export interface AgentDuplicateServer extends Sourced {
  readonly serverId: string;
  readonly address: string;
}

export interface AgentDialEnded extends Sourced {
  readonly link: ServerLink;
  readonly asked: DialFacts;
  readonly address: string;
  readonly connectId: ConnectId;
  readonly outcome: "established" | "timeout" | "unknown" | "policy" | "cancelled";
  /** Empty when established. */
  readonly error: string;
  readonly durationMs: number;
}

export interface AgentTunnelClosed extends Sourced {
  readonly link: ServerLink;
  readonly tunnel: Tunnel;
  readonly address: string;
  readonly connectId: ConnectId;
  readonly durationMs: number;
  readonly bytesToServer: number;
  readonly bytesToEndpoint: number;
  readonly reason: string;
}

export type AgentDraining = Sourced;

/** A reader was so slow that its tunnel was ended to spare the others. */
export interface TunnelCut extends Sourced {
  readonly address: string;
  readonly connectId: ConnectId;
  readonly queuedBytes: number;
  readonly reason: string;
}

export interface CertificatesReloaded extends Sourced {
  readonly files: readonly string[];
}

/** New files were found but could not be used; the old certificates stay in service. */
export interface CertificatesRefused extends Sourced {
  readonly files: readonly string[];
  readonly error: string;
}

export interface ClaimRulesReloaded extends Sourced {
  readonly file: string;
  /** Agents whose streams were ended because the new rules do not allow what they claim. */
  readonly dismissed: number;
}

/** The changed file cannot be used; the rules before it stay in force. */
export interface ClaimRulesRefused extends Sourced {
  readonly file: string;
  readonly error: string;
}

export interface Listening extends Sourced {
  /** Which listener, e.g. `agents`, `health`, `http-connect frontend`. */
  readonly what: string;
  readonly address: string;
}

/** One request to the leases API. */
export interface LeaseRequest extends Sourced {
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  /** The API's `reason` of a failure (`Forbidden`, `Conflict`, ...); empty on success. */
  readonly reason: string;
  readonly durationMs: number;
}

export interface LeasesCulled extends Sourced {
  readonly count: number;
}

/** Everything that has no event of its own. */
export interface Note extends Sourced {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}
