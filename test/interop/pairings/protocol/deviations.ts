import type { Origin } from "../../../support/processes/executables.js";

/**
 * Where the two servers differ on purpose. Every row is asserted for both, so a new upstream version that changes its
 * side of a row shows up as a failing test.
 */
export const deviations = {
  /** A message without a payload, e.g. a gRPC message of no bytes. */
  missingPayload: { theirs: "the process crashes", ours: "that stream ends" },
  /** DIAL_CLS from a gRPC caller. */
  callerCancelsDial: { theirs: "the agent is not told", ours: "the agent is told" },
  /** A CONNECT caller that goes away while its dial is pending. */
  callerHangsUp: { theirs: "not noticed before the dial ends", ours: "the agent is told" },
  /** What a gRPC caller is told of its connection when the agent's stream ends. */
  agentLost: { theirs: "it has ended", ours: "it was cut" },
  /** The agent's stream ends while a gRPC dial is pending on it. */
  agentLostInDial: { theirs: "the caller waits for its own timeout", ours: "the dial fails at once" },
  /** DATA for a connection that is not the caller's own; it may be another caller's. */
  foreignConnection: { theirs: "closed at the agent", ours: "left alone" },
  /** The text of a refusal. */
  refusalText: { theirs: "the bare text", ours: "the same text first, then an explanation" },
} as const satisfies Record<string, Record<Origin, string>>;
