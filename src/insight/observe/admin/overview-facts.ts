/**
 * Role `overview`, a part of the contract: what is asked elsewhere, of a bridge's record and of a Kubernetes API. Every
 * list is bounded, and no token, key or certificate request is in any of it.
 */

export interface OverviewFacts {
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
  readonly steps: readonly BridgeStep[];
  /** Absent when the cluster did not say. */
  readonly nodes?: readonly BridgeNode[] | undefined;
}

export interface BridgeNode {
  readonly name: string;
  readonly ready: boolean;
  /** An agent of this node is connected. */
  readonly connected: boolean;
}

export interface BridgeStep {
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
