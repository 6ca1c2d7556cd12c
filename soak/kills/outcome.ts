import type { DoorKind } from "../fixture/frontends.js";
import type { Kill } from "./kill.js";

/** What one end of a stream knows when it is over. */
export interface EndSeen {
  readonly received: number;
  readonly expected: number;
  /** It has given everything it had to send to its socket. */
  readonly sentAll: boolean;
  /** An orderly end came. */
  readonly ended: boolean;
  /** It came without TLS's goodbye. */
  readonly truncated: boolean;
  /** The connection failed. */
  readonly failed: boolean;
}

/** All bytes, both ways, and an orderly end; an error; or an orderly end before that, which looks like a whole one. */
export type EndState = "whole" | "error" | "short";

export function stateOf({ received, expected, sentAll, ended, truncated, failed }: EndSeen): EndState {
  if (failed || !ended || truncated) return "error";
  return received === expected && sentAll ? "whole" : "short";
}

export interface StreamSeen {
  readonly frontend: DoorKind;
  readonly caller: EndState;
  readonly endpoint: EndState;
  /** What happened to its processes while it was there. */
  readonly kills: readonly Pick<Kill, "victim" | "deed" | "drains">[];
  /** Its endpoint may have spoken last, both directions being open: a pause then looks like one between two requests. */
  readonly pauses: boolean;
}

export type Outcome =
  | "whole at both ends"
  | "an error at both ends"
  | "whole at one end, an error at the other"
  | "an error at one end, a plain end where nothing else can be sent"
  | "closed as between two requests by a drain";

/** The outcome, or a sentence that says what must not be. */
export function outcomeOf(stream: StreamSeen): { readonly outcome: Outcome } | { readonly wrong: string } {
  const { caller, endpoint } = stream;
  if (caller === "whole" && endpoint === "whole") return { outcome: "whole at both ends" };
  const deadly = stream.kills.filter(({ deed }) => deed !== "frozen");
  if (deadly.length === 0) return { wrong: "a stream broke although nothing was killed" };
  if (caller !== "short" && endpoint !== "short") {
    const both = caller === "error" && endpoint === "error";
    return { outcome: both ? "an error at both ends" : "whole at one end, an error at the other" };
  }
  if (stream.pauses && deadly.some(({ drains }) => drains))
    return { outcome: "closed as between two requests by a drain" };
  const lying = [
    ...(caller === "short" && callerCanBeTold(stream.frontend) ? ["caller"] : []),
    ...(endpoint === "short" && endpointCanBeTold(deadly) ? ["endpoint"] : []),
  ];
  if (lying.length > 0) return { wrong: `a stream that was cut looks whole at the ${lying.join(" and the ")}` };
  return { outcome: "an error at one end, a plain end where nothing else can be sent" };
}

/** A Unix socket has no reset, and upstream's client reads a plain end whatever the server says. */
export const callerCanBeTold = (frontend: DoorKind): boolean => frontend === "connect-tls" || frontend === "grpc";

/** Where the agent itself was killed, it is the kernel that closes the endpoint's connection, and it closes in order. */
const endpointCanBeTold = (deadly: StreamSeen["kills"]): boolean =>
  !deadly.some(({ victim, deed }) => victim === "agent" && deed === "killed");
