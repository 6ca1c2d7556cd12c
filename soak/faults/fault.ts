/** One thing that goes wrong, as planned: how it is done is perform.ts's business. */
export type FaultKind =
  | "agent killed"
  | "agent drained"
  | "agent frozen"
  | "server killed"
  | "server terminated"
  | "server frozen"
  | "link stalled"
  | "link cut"
  | "link delayed"
  | "link slowed"
  | "server isolated"
  | "storm of short tunnels"
  | "link half lost"
  | "link dead for a minute";

export interface Fault {
  readonly kind: FaultKind;
  readonly server: number;
  readonly agent: number;
  /** How long it lasts, without the recovery. */
  readonly ms: number;
  /** Before the next one. */
  readonly restMs: number;
  /** Whether the next one may begin while this one lasts. */
  readonly overlapping: boolean;
  /** What a kind needs beyond that, from 0 to 1. */
  readonly turn: number;
}
