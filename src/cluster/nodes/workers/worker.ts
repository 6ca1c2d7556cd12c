/** A machine that was made, or is to be made, for a pool: what is remembered of it. */

export const providers = ["files", "command", "gcloud"] as const;
export type Provider = (typeof providers)[number];

/** What machines look like; which of it means something is the provider's business. */
export interface Shape {
  readonly machineType: string;
  readonly diskGb: string;
  readonly subnet: string;
  readonly image: string;
  readonly imageProject: string;
  readonly project: string;
}

export interface Worker {
  /** Of the machine and of the node. */
  readonly name: string;
  /** `namespace/name`. */
  readonly pool: string;
  /** Empty: none. */
  readonly zone: string;
  readonly provider: Provider;
  readonly shape: Shape;
  /** The pool's, when its user data was made. */
  readonly hash: string;
  /** RFC 3339: in between its first certificate may be issued. */
  readonly notBefore: string;
  readonly deadline: string;
  readonly ips: readonly string[];
  /** Whether the machine exists as far as we know. */
  readonly made: boolean;
  /** Whether its user data has a token that stands for it alone. */
  readonly ownToken: boolean;
  /** Templates, for provider command; kept so that deleting needs no flags. */
  readonly createCommand: readonly string[];
  readonly deleteCommand: readonly string[];
  /** How its user data was made, for the next time; absent: true. */
  readonly setHostname?: boolean;
  /** Absent: as published. */
  readonly ignitionAddress?: string;
  /** Set from the moment it was decided until it is gone, so that whoever was killed in between can go on. */
  readonly leaving?: "removed" | "replaced";
  /** The worker in whose place it is. */
  readonly replaces?: string;
}
