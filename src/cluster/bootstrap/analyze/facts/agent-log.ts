/** An agent's log: whether it reached its server, and if not, why. */
import { evidence, Sighting } from "../evidence.js";
import type { AgentLog, ConnectFailure } from "./facts.js";

/** How upstream's agent and ours say that an attempt to connect failed. */
const FAILED = /cannot connect once|cannot connect to server/;
const CONNECTED = /successfully connected to|"Connect to server"|\bconnected to server\b/;
/** What both print when they end at once. */
const REFUSAL = /^(?:\S+ std(?:err|out) F )?Error: (?!.*cannot connect)|main\.go:\d+\] error: /;

/** The texts of Go and of Node; more specific ones first. */
const reasons: readonly (readonly [RegExp, ConnectFailure])[] = [
  [/certificate is valid for .*, not |does not match certificate's altnames|doesn't contain any IP SANs/, "san"],
  [/current time \S+ is after |certificate has expired(?! or)/, "expired"],
  [/current time \S+ is before |certificate is not yet valid/, "not-yet-valid"],
  [
    /unknown authority \(|signed by unknown authority|self.signed certificate|unable to (verify the first|get (local )?issuer) certificate|certificate signature failure/,
    "unknown-authority",
  ],
  [
    /remote error: tls: |write: broken pipe|stream ended before its headers|alert (bad|unknown|expired|certificate)|read: connection reset|ECONNRESET/,
    "turned-away",
  ],
  [/connection refused|ECONNREFUSED/, "refused"],
  [/no route to host|network is unreachable|EHOSTUNREACH|ENETUNREACH/, "no-route"],
  [/no such host|ENOTFOUND|EAI_AGAIN|server misbehaving/, "unresolved"],
  [/i\/o timeout|no answer in time|timed out|ETIMEDOUT|[dD]eadline ?[eE]xceeded/, "timeout"],
];

export function newAgentLog(file: string): AgentLog {
  return { file, failure: undefined, connected: new Sighting(), refusal: new Sighting() };
}

export function readAgentLine(log: AgentLog, text: string, line: number): void {
  if (CONNECTED.test(text)) {
    log.connected.add(evidence(log.file, text, line));
    log.failure = undefined;
  } else if (FAILED.test(text)) {
    const kind = reasons.find(([pattern]) => pattern.test(text))?.[1];
    if (kind === undefined) return;
    // A new reason begins a new count: the old one has been overcome.
    if (log.failure?.kind !== kind) log.failure = { kind, seen: new Sighting() };
    log.failure.seen.add(evidence(log.file, text, line));
  } else if (REFUSAL.test(text)) log.refusal.add(evidence(log.file, text, line));
}
