/** The events of servers and agents, one channel each. */
import { Channel } from "../../base/channel.js";
import type * as events from "./events.js";

export type * from "./events.js";

export const serverDialEnded = new Channel<events.ServerDialEnded>("server", "dial-ended");
export const serverTunnelClosed = new Channel<events.ServerTunnelClosed>("server", "tunnel-closed");
export const serverAgentConnected = new Channel<events.ServerAgentConnected>("server", "agent-connected");
export const serverAgentDisconnected = new Channel<events.ServerAgentDisconnected>("server", "agent-disconnected");
export const serverAgentDraining = new Channel<events.ServerAgentDraining>("server", "agent-draining");
export const serverAgentRejected = new Channel<events.ServerAgentRejected>("server", "agent-rejected");
export const serverPathChecked = new Channel<events.ServerPathChecked>("server", "path-checked");
export const serverLinkRecycled = new Channel<events.ServerLinkRecycled>("server", "link-recycled");
export const claimRulesReloaded = new Channel<events.ClaimRulesReloaded>("server", "claim-rules-reloaded");
export const claimRulesRefused = new Channel<events.ClaimRulesRefused>("server", "claim-rules-refused");
export const serverRefused = new Channel<events.ServerRefused>("server", "refused");

export const agentServerConnected = new Channel<events.AgentServerConnected>("agent", "server-connected");
export const agentServerDisconnected = new Channel<events.AgentServerDisconnected>("agent", "server-disconnected");
export const agentServerConnectFailed = new Channel<events.AgentServerConnectFailed>("agent", "server-connect-failed");
export const agentDuplicateServer = new Channel<events.AgentDuplicateServer>("agent", "duplicate-server");
export const agentDialEnded = new Channel<events.AgentDialEnded>("agent", "dial-ended");
export const agentTunnelClosed = new Channel<events.AgentTunnelClosed>("agent", "tunnel-closed");
export const agentDraining = new Channel<events.AgentDraining>("agent", "draining");

export const streamError = new Channel<events.StreamError>("shared", "stream-error");
export const tunnelCut = new Channel<events.TunnelCut>("shared", "tunnel-cut");
export const certificatesReloaded = new Channel<events.CertificatesReloaded>("shared", "certificates-reloaded");
export const certificatesRefused = new Channel<events.CertificatesRefused>("shared", "certificates-refused");
export const listening = new Channel<events.Listening>("shared", "listening");
export const leaseListed = new Channel<events.LeaseRequest>("shared", "lease-listed");
export const leaseWatched = new Channel<events.LeaseRequest>("shared", "lease-watched");
export const leaseDeleted = new Channel<events.LeaseRequest>("shared", "lease-deleted");
export const leasesCulled = new Channel<events.LeasesCulled>("shared", "leases-culled");
export const note = new Channel<events.Note>("shared", "note");
