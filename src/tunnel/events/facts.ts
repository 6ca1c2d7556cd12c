/**
 * What a server or an agent knows about itself and shows on request. Types only, nothing of Node's: the admin API's
 * contract, which the live page imports, re-exports them.
 */
import type { ErrorCode } from "../../base/errors/catalogue.js";

/** Whether bytes really get through, as the watchdog last saw it. */
export interface PathHealth {
  readonly state: "ok" | "failing" | "unknown";
  readonly checkedAt?: number;
  readonly roundTripMs?: number;
  /** Failures in a row. */
  readonly failures?: number;
  readonly error?: string;
}

/** How the choice among agents went, and for each one considered why it was passed over. */
export interface ChoiceExplanation {
  readonly address: string;
  readonly host: string;
  readonly agentsConnected: number;
  /** What became of waiting for an agent, where the server is to wait (--wait-for-agent). */
  readonly wait?: string;
  readonly strategies: readonly { readonly name: string; readonly keys: number; readonly matches: number }[];
  readonly considered: readonly {
    readonly agentId: string;
    /** The agent's key. */
    readonly stream: number;
    readonly identifiers: string;
    readonly status: string;
    readonly load: number;
    readonly passedOver: string;
  }[];
}

/** How many agents a strategy can choose from. */
export interface StrategyCount {
  readonly name: string;
  readonly agents: number;
}

/** Files that were replaced on disk by something that cannot be used. */
export interface UnusedFiles {
  /** What for, e.g. `agents`, `http-connect frontend`, `servers`, `claim rules`. */
  readonly use: string;
  readonly files: readonly string[];
  readonly code: ErrorCode;
  /** Names the file at fault; without a full stop. */
  readonly reason: string;
  /** When it was noticed. */
  readonly sinceAt: number;
}

/** A peer that a listener refused. Whatever it said of itself is cut and has no control characters. */
export interface RefusedPeer {
  /** The name people know: `agents`, `http-connect frontend`, `grpc frontend` or `admin`. */
  readonly listener: string;
  /** `host:port`, or `unix`. */
  readonly remote: string;
  readonly code: ErrorCode;
  /** In words that go on from the peer's name, without a full stop. */
  readonly reason: string;
  /** Where more is known than what the code's own says. */
  readonly remedy?: string;
  /** As an agent claims it. */
  readonly agentId?: string;
  /** The certificate it showed, if it showed one. */
  readonly certificate?: ShownCertificate;
}

/** A peer's certificate, verified or not. Times in milliseconds since 1970. */
export interface ShownCertificate {
  readonly subject: string;
  readonly issuer: string;
  /** Hexadecimal. */
  readonly serial: string;
  readonly notBeforeAt: number;
  readonly notAfterAt: number;
}

/** One of `GET flight`: a link whose last packets are remembered. */
export interface FlightSummary {
  /** The key of the agent or server at its other end. */
  readonly key: number;
  /** That one's ID, as it claims it. */
  readonly peer: string;
  readonly openedAt: number;
  /** Absent while it is open. The last few that have ended are kept. */
  readonly closedAt?: number;
  /** Packets since it was opened, in both directions. */
  readonly packets: number;
}

/** Answer of `GET flight/KEY`; with `?format=text` the same for a person to read. */
export interface FlightRecord extends FlightSummary {
  /** When the record was made. */
  readonly at: number;
  readonly totals: readonly {
    readonly direction: "sent" | "received";
    readonly type: string;
    readonly packets: number;
    /** Payload of DATA. */
    readonly bytes?: number;
  }[];
  /** Oldest first. */
  readonly last: readonly FlightPacket[];
}

/** A packet's header. */
export interface FlightPacket {
  /** Before `at` of the record. */
  readonly agoMs: number;
  readonly direction: "sent" | "received";
  readonly type: string;
  readonly connectId?: number;
  /** DATA: of payload. CREDIT: granted. */
  readonly bytes?: number;
  /** The end of a dial's number, the same in its request and its answer. */
  readonly dial?: string;
}
