import type { FrontendKind } from "../../test/support/processes/server.js";
import type { Route } from "../load/drive.js";

/**
 * What is compared: pairs, server before agent; limits, which are no tunnel at all and the plainest possible one; and
 * ours/ours with one more hop in front of it.
 */
export type ContenderName = "ours/ours" | "Go/Go" | "ours/Go" | "Go/ours" | "direct" | "relay" | Hop | Audience;

/**
 * Ours beside a thousand idle tunnels. Its admin API is open, and somebody follows its events (`watched`) or nobody does
 * (`unwatched`); or there is nothing to look at: no admin API, no flight recorder (`dark`).
 */
export type Audience = "watched" | "unwatched" | "dark";

export const isAudience = (name: ContenderName): name is Audience =>
  name === "watched" || name === "unwatched" || name === "dark";

/** What stands between the caller and the server's frontend. */
export type Hop = "sidecar" | "HAProxy";

export const isHop = (name: ContenderName): name is Hop => name === "sidecar" || name === "HAProxy";

/** No tunnel at all, and the plainest possible one: shown, not compared with. */
export const isLimit = (name: ContenderName): boolean => name === "direct" || name === "relay";

export const PAIRS: readonly ContenderName[] = ["ours/ours", "Go/Go", "ours/Go", "Go/ours"];

/** Which of the two roles runs our implementation. */
export const oursIn = (name: ContenderName): { readonly server: boolean; readonly agent: boolean } => ({
  server: name.startsWith("ours/") || isHop(name) || isAudience(name),
  agent: name.endsWith("/ours") || isHop(name) || isAudience(name),
});

/** Something that runs and can be driven. */
export interface Contender {
  readonly name: ContenderName;
  readonly route: Route;
  /** The processes whose CPU time and memory count; none for direct. */
  readonly pids: readonly number[];
  readonly server?: number;
  readonly agent?: number;
  /** What stands in front of the server. */
  readonly hop?: number;
  close(): Promise<void>;
}

export interface ContenderKind {
  readonly name: ContenderName;
  readonly frontend: FrontendKind;
}
