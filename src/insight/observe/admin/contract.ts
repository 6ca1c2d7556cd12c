/**
 * The admin API's JSON, version 1: what every role says about itself, in one shape. What does not apply to a role is
 * absent. Types and constants only, nothing of Node's, so that the live page can import this file as it is.
 *
 * Conventions: a field that ends with `At` is milliseconds since 1970 by the process's own clock (`ProcessInfo.now` shows
 * how far that is from the reader's), one that ends with `Ms` is a duration. Bytes always run "to the target" or "from
 * the target", whichever role answers. Names, addresses and errors may come from strangers: show them as text, and take
 * control characters out before a terminal sees them. There is never a payload byte and never a secret in any of it.
 *
 * Within version 1 fields may be added; none is removed and none changes its meaning. docs/admin-api.md has the routes.
 */

import type { Cause } from "../../../base/errors/error.js";
import type {
  ChoiceExplanation,
  PathHealth,
  RefusedPeer,
  StrategyCount,
  UnusedFiles,
} from "../../../tunnel/events/facts.js";

export type * from "../../../tunnel/events/facts.js";

export const API_VERSION = 1;

/** Before every route of the API. */
export const API_PREFIX = "/drawbridge/v1/";

export type Role = "server" | "agent" | "sidecar" | "ignition" | "overview";

export interface ProcessInfo {
  readonly apiVersion: typeof API_VERSION;
  readonly role: Role;
  /** Of drawbridge. */
  readonly version: string;
  /** The server's or agent's ID; for others the host's name. */
  readonly id: string;
  /** The name of its host, and its number there. Older versions: absent. */
  readonly host?: string;
  readonly pid?: number;
  /** Another one after every start: what was remembered of a process before is then void. */
  readonly instance: string;
  readonly startedAt: number;
  /** The process's clock at the moment of this answer. */
  readonly now: number;
  readonly ready: boolean;
  /** Absent when ready. */
  readonly unreadyReason?: string | undefined;
  /** The same, one by one; roles `agent` and `sidecar`, where it is known. Older versions: absent. */
  readonly unreadyCauses?: readonly Cause[] | undefined;
  /** A server that shuts down, or an agent that asked its servers to prefer others. */
  readonly draining: boolean;
  /** Role `agent`, while it drains. Older versions: absent. */
  readonly drainingSinceAt?: number | undefined;
  /** Role `server`: how many servers agents should look for; role `agent`: how many it looks for. */
  readonly serverCount?: number;
  /** Role `server`: the names of its strategies, in order. */
  readonly strategies?: readonly string[];
  /** Role `server`: how many agents each of them can choose from. */
  readonly strategyCounts?: readonly StrategyCount[];
  /** Role `agent`: as it sends them to its servers. */
  readonly identifiers?: string;
}

/** What a page adds up over time: differences between two of them are rates. */
export interface Totals {
  readonly at: number;
  /** Since the process started, ended tunnels included. */
  readonly bytesToTarget: number;
  readonly bytesFromTarget: number;
  /** At present. */
  readonly tunnelsOpen: number;
  readonly dialsPending: number;
  /** Role `server`: of those, the ones that wait for an agent to connect. Older versions: absent. */
  readonly dialsWaiting?: number;
  /** Since the process started. */
  readonly dialsEstablished: number;
  readonly dialsFailed: number;
  /** Summed over the established ones, so that the difference of two totals gives an average. */
  readonly dialMsSum: number;
  /** Bytes that wait for slow readers. */
  readonly queuedBytes: number;
  /** Since the process started: peers refused at TLS or at the login. Older versions: absent. */
  readonly peersRefused?: number;
  /** Role `ignition`: since the process started. */
  readonly payloadsServed?: number;
  readonly fetchesRefused?: number;
}

/** One stream between a server and an agent, as either end sees the other. */
interface LinkInfo {
  /** Of the stream, not of the peer; unique for the life of the process. */
  readonly key: number;
  /** Whether the peer speaks drawbridge's additions. */
  readonly drawbridge: boolean;
  /** What its program calls itself: `drawbridge/0.1.0`, `grpc-go/1.73.0`. */
  readonly version?: string | undefined;
  readonly connectedAt: number;
  /** Of the last ping. */
  readonly roundTripMs?: number | undefined;
  /** An agent gets new dials only while there are no others; a server that shuts down sends none. */
  readonly draining: boolean;
  readonly tunnels: number;
  /** Since it connected, ended tunnels included. */
  readonly bytesToTarget: number;
  readonly bytesFromTarget: number;
  /** Bytes that wait for the link itself. */
  readonly queuedBytes: number;
  readonly path?: PathHealth | undefined;
}

/** A proxy-server as an agent or a sidecar sees it; a sidecar knows only the address. */
export interface ServerPeer extends Partial<LinkInfo> {
  readonly key: number;
  /** The server's ID; absent where the role does not know it. */
  readonly id?: string;
  /** Where it was reached. */
  readonly address: string;
}

/** An agent as a server sees it: one stream. Two may claim one ID. */
export interface AgentPeer extends LinkInfo {
  /** As the agent claims it. */
  readonly id: string;
  /** As the agent sent them, a URL query. */
  readonly identifiers: string;
  readonly remote: string;
  /** Whom its certificate or token names. */
  readonly principal?: string | undefined;
  /** Recent dials failed for reasons of its own: others are preferred until then. */
  readonly demotedUntil?: number | undefined;
  readonly pendingDials: number;
}

/**
 * `dialing` asked for, not answered · `open` both ways · `half-closed` one direction has ended (its mark says which) ·
 * `closed` ended after it was open · `failed` ended without ever being open.
 */
export type TunnelState = "dialing" | "open" | "half-closed" | "closed" | "failed";

/** How the caller connected. `forward`, a plain HTTP request, is shown only while its target is dialled and when that fails. */
export type TunnelFrontend = "grpc" | "http-connect" | "socks5" | "connect" | "upgrade" | "forward";

/** One proxied connection. */
export interface TunnelRow {
  /** Unique for the life of the process; the same from `dialing` to the end. */
  readonly id: number;
  /** The number both ends of the link call it by; only with `agent` or `server` it means something. */
  readonly connectId?: string;
  /**
   * Role `server`: the caller's own number for its dial, in decimal digits: a gRPC caller's `random`, which agents and
   * callers of upstream log as dialID, or that of the header X-Drawbridge-Dial-Id. Random where the caller sent none.
   */
  readonly dialId?: string;
  /** Absent at an agent, which does not know. */
  readonly frontend?: TunnelFrontend;
  /** Role `sidecar`: the listener's name. */
  readonly listener?: string;
  /** `host:port`, as the caller wrote it. */
  readonly target: string;
  /** Role `server`: key and claimed ID of the agent that carries it. */
  readonly agent?: { readonly key: number; readonly id: string };
  /** Role `agent`: key and ID of the server it came over. */
  readonly server?: { readonly key: number; readonly id: string };
  readonly state: TunnelState;
  readonly askedAt: number;
  readonly marks: TunnelMarks;
  readonly bytesToTarget: number;
  readonly bytesFromTarget: number;
  /** What this end may still send before the far end grants more; absent where the far end knows no window. */
  readonly sendWindowBytes?: number;
  /** How much the far end may have under way to this end. */
  readonly receiveWindowBytes?: number;
  /** Bytes that this process holds for the tunnel's own reader. */
  readonly queuedBytes: number;
  /** Its source is held back at present: the link is full, the window is closed, or the reader is slow. */
  readonly paused?: boolean | undefined;
  /** Why the last attempt failed, or why it ended in disorder. */
  readonly lastError?: string;
  /** Once it has ended. */
  readonly endReason?: string;
  /** Under which the refusal's explanation is found. */
  readonly refusalId?: string;
}

/** A tunnel's life in milliseconds after `askedAt`; what has not happened is absent. The waterfall draws this. */
export interface TunnelMarks {
  /** The request to dial left this process, or the dial to the target began; the last time, if it was tried twice. */
  readonly dialled?: number;
  /** The first agent was asked, when it was tried twice: `dialled` is of the second one then. */
  readonly firstDialled?: number;
  /** The far end accepted the dial. */
  readonly answered?: number;
  readonly firstByteToTarget?: number;
  readonly firstByteFromTarget?: number;
  /** The caller has no more to send. */
  readonly callerEnded?: number;
  /** The target has no more to send. */
  readonly targetEnded?: number;
  readonly ended?: number;
}

/** Why a server without any agent refuses. */
export const NO_AGENT_CONNECTED = "No agent is connected.";

/** Why a dial or a request was refused. */
export interface Refusal {
  /** What the caller's error ends with (`reference XXXXXXXX`), where there is one. */
  readonly id: string;
  readonly at: number;
  /** `host:port`; for an Ignition server the pool that was claimed, if any. */
  readonly target: string;
  /** One sentence. */
  readonly why: string;
  /** Of the catalogue of errors, where there is one. */
  readonly code?: string | undefined;
  /** Who asked, where it is known. */
  readonly remote?: string;
}

/**
 * A peer that a listener refused before it could ask for anything: at TLS, or for what it said of itself. Refusals of
 * one address, listener, code and certificate are one row.
 */
export interface RefusedPeerRow extends Omit<RefusedPeer, "remote"> {
  /** Unique for the life of the process. */
  readonly id: number;
  /** Where from, without the port; `unix` for a socket. */
  readonly address: string;
  /** What to do about it. */
  readonly remedy: string;
  readonly count: number;
  readonly firstAt: number;
  /** The last one; `reason` and `agentId` are of this one. */
  readonly at: number;
  /**
   * When a peer of this address, and of this certificate's subject where one was shown, was first accepted at this
   * listener after that; absent: none was.
   */
  readonly acceptedAt?: number | undefined;
  /** When the listener's certificate was replaced, of a peer that did not accept the one before. */
  readonly replacedAt?: number | undefined;
}

/** What `refusals/ID` adds. */
export interface ExplainedRefusal extends Refusal {
  readonly explanation?: ChoiceExplanation;
}

/** Answer of `GET explain?target=HOST:PORT`: what would become of a dial, without dialling. */
export interface Forecast {
  readonly target: string;
  /** Whether somebody would be asked, or the target dialled. */
  readonly possible: boolean;
  /** One sentence. */
  readonly why: string;
  /** Role `server`: the strategy that decides, and whom it chooses among, the favourites first. */
  readonly strategy?: string;
  readonly candidates?: readonly Candidate[];
  readonly candidatesLeftOut?: number | undefined;
  readonly explanation?: ChoiceExplanation;
}

export interface Candidate {
  readonly key: number;
  readonly id: string;
  /** `ready` ones are taken first, `demoted` ones next, `draining` ones last. */
  readonly status: "ready" | "demoted" | "draining";
  /** Open tunnels and pending dials: of two picked at random the less loaded one is taken. */
  readonly load: number;
}

/** A certificate this process uses, or trusts others by. */
export interface CertificateInfo {
  readonly file: string;
  /** What for, e.g. `agents`, `http-connect frontend`, `servers`. */
  readonly use: string;
  /** Shown to others, or what others are checked against. */
  readonly kind: "own" | "trusted";
  readonly subject: string;
  readonly issuer: string;
  /** Names and addresses it is for. */
  readonly names: readonly string[];
  readonly serial: string;
  /** SHA-256, hexadecimal. */
  readonly fingerprint: string;
  readonly notBeforeAt: number;
  readonly notAfterAt: number;
}

export interface ListenerInfo {
  /** What listens: `agents`, `health`, `admin`, `http-connect frontend`, `socks5 proxy`, ... */
  readonly what: string;
  /** `host:port` or the path of a socket. */
  readonly address: string;
}

/** The answer of every route that lists. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** How many there are in all that fit the question. */
  readonly total: number;
  /** To be given as `after` for the next page; absent on the last. */
  readonly next?: number;
}

/** Every answer with a status from 400 on. */
export interface ApiError {
  readonly error: {
    /** Stable; `DB_...` where the catalogue of errors has it, otherwise one of `ApiFault`. */
    readonly code: string;
    /** One sentence. */
    readonly message: string;
    /** What to do, where there is something to do. */
    readonly remedy?: string;
  };
}

export type ApiFault =
  | "unauthenticated"
  | "cross-site"
  | "wrong-host"
  | "not-found"
  | "method"
  | "malformed"
  | "too-many"
  | "not-possible"
  | "no-answer"
  | "internal";

/** Everything but tunnels, of which there may be many. */
export interface Overview extends GatheredFacts {
  readonly process: ProcessInfo;
  readonly totals: Totals;
  readonly path?: PathHealth | undefined;
  readonly servers?: readonly ServerPeer[] | undefined;
  readonly agents?: readonly AgentPeer[] | undefined;
  readonly listeners: readonly ListenerInfo[];
  readonly certificates: readonly CertificateInfo[];
  /** Empty while all files on disk are in use. Absent in answers of older versions. */
  readonly unusedFiles?: readonly UnusedFiles[] | undefined;
  /** Newest first. */
  readonly refusals: readonly Refusal[];
  /** Newest first; 64 at most. Absent in answers of older versions. */
  readonly refusedPeers?: readonly RefusedPeerRow[] | undefined;
}

/** Answer of `GET dump`, for support: all there is, refusals with their explanations. */
export interface Dump extends Omit<Overview, "refusals"> {
  readonly refusals: readonly ExplainedRefusal[];
  readonly tunnels: readonly TunnelRow[];
  /** Newest first. */
  readonly ended: readonly TunnelRow[];
}

// ---- GET history: the last ten minutes, kept by the process itself -----------------------------------------------------

/** Every list is bounded; what was not dialled within the ten minutes is absent. */
export interface HistoryInfo {
  readonly stepMs: number;
  /** When the first of the steps began; all lists of numbers have one for each step, oldest first. */
  readonly fromAt: number;
  readonly total: DialHistory & {
    /** Mean of the dials that were established in the step; null where there were none. */
    readonly dialMs?: readonly (number | null)[] | undefined;
    readonly kibToTarget: readonly number[];
    readonly kibFromTarget: readonly number[];
    /** At the end of the step. */
    readonly tunnels: readonly number[];
  };
  /** Role `server`: agents by their ID; role `agent`: servers. */
  readonly peers: readonly (DialHistory & { readonly id: string })[];
  readonly targets: readonly TargetHistory[];
  /** The most frequent first. */
  readonly failures: readonly FailureGroup[];
  /** Peers that disconnected and did not come back; the last one first. */
  readonly left: readonly LeftPeer[];
}

export interface DialHistory {
  /** Failed ones included. */
  readonly dials: readonly number[];
  readonly failures: readonly number[];
  /** Of the established ones, over the ten minutes; absent when there were none. */
  readonly p50Ms?: number | undefined;
  readonly p99Ms?: number | undefined;
}

export interface TargetHistory extends DialHistory {
  readonly target: string;
  /** Some of the agents or servers that dialled it. Older versions: absent. */
  readonly peers?: readonly string[] | undefined;
  /** The first of the failures after which it never answered; absent when the last dial was established. */
  readonly failingSinceAt?: number | undefined;
  /** How often in the ten minutes it answered again after a failure. Older versions: absent. */
  readonly recoveries?: number | undefined;
}

/** Dials to one target that failed for one reason. */
export interface FailureGroup {
  readonly target: string;
  readonly reason: string;
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** Some of the agents or servers concerned. */
  readonly peers: readonly string[];
}

export interface LeftPeer {
  readonly id: string;
  readonly address: string;
  readonly connectedAt: number;
  readonly leftAt: number;
  /** Its last words. */
  readonly reason: string;
  /** It was told to end, and said so before. */
  readonly isDrained?: boolean | undefined;
}

// ---- role `overview`: what is asked elsewhere, of a bridge's record and of a Kubernetes API ---------------------------

/** Every list is bounded, and no token, key or certificate request is in any of it. */
export interface GatheredFacts {
  readonly bridge?: BridgeInfo | undefined;
  /** By name. */
  readonly pools?: readonly PoolInfo[] | undefined;
  /** Newest first. */
  readonly claims?: readonly ClaimInfo[] | undefined;
  /** Newest first. */
  readonly decisions?: readonly DecisionInfo[] | undefined;
  /** Who is asked for all of it, and whether they answer. */
  readonly sources?: readonly SourceInfo[] | undefined;
}

export type SourceName = "bridge" | "pools" | "claims" | "decisions";

export interface SourceInfo {
  readonly what: SourceName;
  /** A directory, or the file that opens a cluster. */
  readonly where: string;
  /** `failing`: what is shown is from `answeredAt`, or there is nothing. */
  readonly state: "asking" | "ok" | "failing";
  readonly error?: string | undefined;
  readonly remedy?: string | undefined;
  /** Absent before the first answer. */
  readonly answeredAt?: number | undefined;
  /** More than the list holds. */
  readonly leftOut?: number | undefined;
}

/** The temporary bridge on this host. */
export interface BridgeInfo {
  /** What kind of control plane it is for. Absent, like the rest, where no bridge is recorded. */
  readonly for?: string | undefined;
  /** Where agents dial. */
  readonly address?: string | undefined;
  readonly madeAt?: number | undefined;
  /** When its certificates end, and it with them. */
  readonly untilAt?: number | undefined;
  /** In the order in which they are taken; empty when no bridge is recorded. */
  readonly steps: readonly BridgeStepState[];
  /** Absent when the cluster did not say. */
  readonly nodes?: readonly BridgeNode[] | undefined;
}

export interface BridgeNode {
  readonly name: string;
  readonly ready: boolean;
  /** An agent of this node is connected. */
  readonly connected: boolean;
}

export interface BridgeStepState {
  /** Stable, for scripts. */
  readonly name: string;
  readonly title: string;
  /** `running`: somebody is at it · `waiting`: for the one before it, or for a person · `failed`: it is not as it should be. */
  readonly state: "done" | "running" | "waiting" | "failed";
  readonly detail: string;
  /** What to do, unless it is done. */
  readonly remedy?: string | undefined;
}

export interface PoolInfo {
  /** `namespace/name`. */
  readonly name: string;
  readonly cluster: string;
  readonly version: string;
  /** As asked for; absent when somebody scales it. */
  readonly replicas?: number | undefined;
  /** Of the configuration that machines get now; empty before there is one. */
  readonly hash: string;
  /** Machines can be given user data now. */
  readonly ready: boolean;
  /** The token of the current hash. */
  readonly tokenMadeAt?: number | undefined;
  readonly tokenRotatesAt?: number | undefined;
  /** What came of making the payload. */
  readonly payload?: string | undefined;
  /** Where an inventory is published. */
  readonly workers?: { readonly expected: number; readonly fetched: number; readonly joined: number } | undefined;
  /** The conditions that are not as they should be. */
  readonly troubles: readonly PoolTrouble[];
}

export interface PoolTrouble {
  readonly type: string;
  readonly message: string;
  readonly sinceAt?: number | undefined;
}

/** Somebody fetched a pool's configuration. */
export interface ClaimInfo {
  readonly pool: string;
  /** Absent when the token was the pool's: it could be any of its machines. */
  readonly worker?: string | undefined;
  readonly at: number;
}

/** A kubelet's certificate request and what became of it. */
export interface DecisionInfo {
  readonly request: string;
  readonly kind?: "client" | "renewal" | "serving" | undefined;
  /** As the request names it; empty when it cannot be read. */
  readonly node: string;
  readonly pool?: string | undefined;
  /** Who filed it. */
  readonly user?: string | undefined;
  /** `gone`: nobody ever decided it, and it is not there any more. */
  readonly outcome: "pending" | "approved" | "denied" | "failed" | "gone";
  /** Pending: what an approver that was started with the same flags would do. */
  readonly would?: "approve" | "deny" | "leave" | undefined;
  readonly why: string;
  /** The one that is broken. */
  readonly rule?: string | undefined;
  /** Whose decision it was, where a log says so. */
  readonly by?: string | undefined;
  /** When it was decided; pending: when it was filed. */
  readonly at: number;
}

// ---- GET events: server-sent events -----------------------------------------------------------------------------------

/**
 * The data of `snapshot`, which comes first, and again when the reader was too slow for the changes: it replaces
 * everything from before. Tunnels follow in changes.
 */
export interface SnapshotEvent extends Overview {
  /** The last few that ended, newest first. */
  readonly ended: readonly TunnelRow[];
}

/** The data of `change`: at most a few a second, and none while nothing changes. What is absent did not change. */
export interface ChangeEvent extends GatheredFacts {
  readonly totals: Totals;
  readonly process?: ProcessInfo;
  readonly path?: PathHealth | undefined;
  readonly agents?: Changes<AgentPeer> | undefined;
  readonly servers?: Changes<ServerPeer> | undefined;
  readonly tunnels?: Changes<TunnelRow> | undefined;
  /** New ones, newest first. */
  readonly refusals?: readonly Refusal[] | undefined;
  /** Tunnels that ended since the last change, newest first; only the latest of very many. */
  readonly ended?: readonly TunnelRow[] | undefined;
  /** The whole list. */
  readonly refusedPeers?: readonly RefusedPeerRow[] | undefined;
  readonly listeners?: readonly ListenerInfo[];
  readonly certificates?: readonly CertificateInfo[];
  readonly unusedFiles?: readonly UnusedFiles[] | undefined;
}

export interface Changes<Item> {
  /** New ones and those that changed, each one whole. */
  readonly changed: readonly Item[];
  /** Keys of peers, ids of tunnels. */
  readonly gone: readonly number[];
}
