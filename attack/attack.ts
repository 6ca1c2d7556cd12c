/** What an attack is, and what it may use. One file of attacks/ holds one. */
import type { Work } from "./harness/work.js";
import type { Place } from "./raw/place.js";

/** What an attacker may reach; the sink opens the same ones. */
export type ListenerName =
  | "agents"
  | "connect-uds"
  | "connect-tls"
  | "grpc-tls"
  | "grpc-uds"
  | "health"
  | "admin"
  | "sidecar-socks5"
  | "sidecar-http"
  | "ignition";

/** Where a hostile server waits for the agent. */
export interface HostileListener {
  readonly port: number;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface Target {
  readonly listeners: Partial<Record<ListenerName, Place>>;
  readonly hostile?: HostileListener;
  /** Endpoints behind the tunnel that an attacker may dial: one echoes, one never reads. */
  readonly echo: string;
  readonly stalled: string;
  /** What only one fixture has. */
  readonly extra: Readonly<Record<string, string>>;
}

/** Four times what a process takes that has nothing to do. */
export const BOUND_MIB = 256;

export const FIXTURES = [
  "tokens",
  "server",
  "descriptors",
  "attraction",
  "agent",
  "policy-allow",
  "policy-deny",
  "names",
  "sidecar",
  "ignition",
] as const;
export type FixtureName = (typeof FIXTURES)[number];

export interface Attack {
  readonly name: string;
  /** The listener or the process that is attacked, and what the attacker has shown of itself. */
  readonly against: string;
  readonly description: string;
  readonly fixture: FixtureName;
  /** Resident memory that the attacked process must never exceed. */
  readonly boundMiB: number;
  /**
   * The attacked process must end the attacker's connections ("long": in a long run, where it has the time); otherwise it
   * is enough that it holds them.
   */
  readonly mustEnd?: boolean | "long";
  /** How long one round takes; a short one where it differs. */
  readonly seconds?: number;
  readonly shortSeconds?: number;
  /** Left out of --short. */
  readonly long?: boolean;
  /** There is nothing whose cost could be compared with a sink's. */
  readonly noSink?: boolean;
  /** Can be made against upstream's programs, too. */
  readonly upstream?: boolean;
  /** Why the attack cannot be made on this machine. */
  unavailable?(): string | undefined;
  run(target: Target, work: Work): Promise<void>;
}
