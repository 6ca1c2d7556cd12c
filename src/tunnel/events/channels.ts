/**
 * The events of servers and agents, one channel each with the fields of its message. Counts and durations are plain
 * numbers; nothing here may hold a secret.
 */

import type { TLSSocket } from "node:tls";
import { Channel, type Sourced } from "../../base/channel.js";
import type { ErrorCode } from "../../base/errors/catalogue.js";
import type { ServerLink } from "../agent/server-link.js";
import type { DialFacts, Tunnel } from "../connection/tunnel.js";
import type { AgentLink } from "../server/agents/agent-link.js";
import type { FrontendMode } from "../server/config.js";
import type { Dial } from "../server/dial.js";
import type { ConnectId, DialId } from "../wire/packet.js";
import type { ChoiceExplanation, RefusedPeer } from "./facts.js";

const ofServer = <Fields = unknown>(event: string) => new Channel<Sourced & Readonly<Fields>>("server", event);
const ofAgent = <Fields = unknown>(event: string) => new Channel<Sourced & Readonly<Fields>>("agent", event);
const ofBoth = <Fields = unknown>(event: string) => new Channel<Sourced & Readonly<Fields>>("shared", event);

export interface ServerDialEnded {
  /** Absent for an answer that no dial waited for. */
  dial?: Dial;
  frontend: FrontendMode;
  address: string;
  agentId?: string;
  connectId?: ConnectId;
  dialId: DialId;
  /** Every failure is a value of upstream's `reason` label. */
  outcome:
    | "established"
    | "no_agent"
    | "error_response"
    | "unrecognized_response"
    | "send_rsp"
    | "backend_close"
    | "backend_dial_timeout"
    | "frontend_close";
  /** Empty when established. */
  error: string;
  /** Without what it waited for an agent. */
  durationMs: number;
  /** How long it waited for an agent to connect; absent: it did not. */
  waitedMs?: number;
  /** Under which the refusal's whole explanation is kept. */
  referenceId?: string;
}

export const serverDialEnded = ofServer<ServerDialEnded>("dial-ended");

export const serverTunnelClosed = ofServer<{
  link: AgentLink;
  tunnel: Tunnel;
  frontend: FrontendMode;
  address: string;
  agentId: string;
  connectId: ConnectId;
  durationMs: number;
  bytesToAgent: number;
  bytesToClient: number;
  reason: string;
}>("tunnel-closed");

export const serverAgentConnected = ofServer<{
  agentId: string;
  /** The identifiers as the agent sent them. */
  identifiers: string;
  /** The server's own number for this stream; agent ids are not unique. */
  stream: number;
  remote: string;
  /** Whether the agent speaks drawbridge's additions. */
  drawbridge: boolean;
  /** The name in its certificate or token. */
  principal?: string;
  /** The name in its certificate, where `principal` is that of its token. */
  subject?: string;
}>("agent-connected");

export const serverAgentDisconnected = ofServer<{ agentId: string; stream: number; reason: string }>(
  "agent-disconnected",
);
export const serverAgentDraining = ofServer<{ agentId: string; stream: number }>("agent-draining");

/** The watchdog probed an agent's path. */
export const serverPathChecked = ofServer<{
  agentId: string;
  stream: number;
  /** Failures in a row; 0 when everything came back. */
  failures: number;
  /** The number of failures before. */
  failuresBefore: number;
  /** Present when everything came back. */
  roundTripMs?: number;
  /** Present when it did not. */
  error?: string;
}>("path-checked");

/** The watchdog ended a stream on which nothing moved any more. */
export const serverLinkRecycled = ofServer<{ agentId: string; stream: number; failures: number; error: string }>(
  "link-recycled",
);

/** `dismissed`: agents whose streams were ended because the new rules do not allow what they claim. */
export const claimRulesReloaded = ofServer<{ file: string; dismissed: number }>("claim-rules-reloaded");
/** The changed file cannot be used; the rules before it stay in force. */
export const claimRulesRefused = ofServer<{ file: string; error: string }>("claim-rules-refused");

export const serverRefused = ofServer<{
  referenceId: string;
  address: string;
  /** Strategies tried, agents considered, why each was passed over: printed as JSON, never shown to API users. */
  explanation: Partial<ChoiceExplanation>;
}>("refused");

export const agentServerConnected = ofAgent<{ serverId: string; address: string; serverCount: number }>(
  "server-connected",
);
export const agentServerDisconnected = ofAgent<{ serverId: string; address: string; reason: string }>(
  "server-disconnected",
);
/** `code` and `remedy` where the cause is known. */
export const agentServerConnectFailed = ofAgent<{
  address: string;
  error: string;
  code?: ErrorCode;
  remedy?: string;
}>("server-connect-failed");
export const agentDuplicateServer = ofAgent<{ serverId: string; address: string }>("duplicate-server");

/** `failed`: for a reason that its error names. */
export type AgentDialOutcome = "established" | "timeout" | "failed" | "policy" | "cancelled";

export const agentDialEnded = ofAgent<{
  link: ServerLink;
  asked: DialFacts;
  address: string;
  connectId: ConnectId;
  outcome: AgentDialOutcome;
  /** Empty when established. */
  error: string;
  durationMs: number;
}>("dial-ended");

export const agentTunnelClosed = ofAgent<{
  link: ServerLink;
  tunnel: Tunnel;
  address: string;
  connectId: ConnectId;
  durationMs: number;
  bytesToServer: number;
  bytesToEndpoint: number;
  reason: string;
}>("tunnel-closed");

export const agentDraining = ofAgent("draining");

export const streamError = ofBoth<{
  segment: "from_client" | "to_client" | "from_agent" | "to_agent";
  /** gRPC's name of the status, e.g. `Unavailable`. */
  code: string;
  /** The packet that could not be sent, or `Unknown` on receive errors. */
  packetType: string;
}>("stream-error");

/** A reader was so slow that its tunnel was ended to spare the others. */
export const tunnelCut = ofBoth<{
  code: ErrorCode;
  address: string;
  connectId: ConnectId;
  queuedBytes: number;
  reason: string;
}>("tunnel-cut");

export const certificatesReloaded = ofBoth<{ listener: string; files: readonly string[] }>("certificates-reloaded");
/** New files were found but could not be used; the old certificates stay in service. */
export const certificatesRefused = ofBoth<{
  listener: string;
  files: readonly string[];
  error: string;
  code?: ErrorCode;
}>("certificates-refused");
/** After that, the files hold again what is in service. */
export const certificatesUsable = ofBoth<{ listener: string; files: readonly string[] }>("certificates-usable");

/** A frontend accepted a caller, or the admin port a login or a token after a wrong one. */
export const callerAccepted = ofBoth<{
  listener: string;
  remote: string;
  /** For its certificate, where it had to show one. */
  tlsSocket?: TLSSocket | undefined;
}>("caller-accepted");
/** A dial of AGENT_ITSELF found its agent. Nothing failed, so it is in no DialEnded. */
export const agentProbed = ofBoth<{ address: string; agentId?: string; durationMs: number }>("agent-probed");
/** A listener refused a peer; published every time, however often it comes. */
export const peerRefused = ofBoth<RefusedPeer>("peer-refused");
/** `what`: which listener, e.g. `agents`, `health`, `http-connect frontend`. */
export const listening = ofBoth<{ what: string; address: string }>("listening");

/** One request to the leases API. */
export interface LeaseRequest {
  /** HTTP status; 0 when no answer came. */
  status: number;
  /** The API's `reason` of a failure (`Forbidden`, `Conflict`, ...); empty on success. */
  reason: string;
  durationMs: number;
}

export const leaseListed = ofBoth<LeaseRequest>("lease-listed");
export const leaseWatched = ofBoth<LeaseRequest>("lease-watched");
export const leaseDeleted = ofBoth<LeaseRequest>("lease-deleted");
export const leasesCulled = ofBoth<{ count: number }>("leases-culled");

/** Everything that has no event of its own. */
export const noteChannel = ofBoth<{
  level: "info" | "warn" | "error";
  message: string;
  fields?: Readonly<Record<string, unknown>>;
}>("note");
