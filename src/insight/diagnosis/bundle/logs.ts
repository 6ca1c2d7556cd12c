/** The logs of agents, server, kube-apiserver and kubelet, line by line. */
import { type AgentLog, type BundleFacts, type ConnectFailure, Sighting } from "./facts.js";

export type LineReader = (text: string, line: number) => void;

/** How upstream's agent and ours say that an attempt to connect failed. */
const FAILED = /cannot connect once|cannot connect to server/;
const CONNECTED = /successfully connected to|"Connect to server"|\bconnected to server\b/;
/** What both print when they end at once. */
const AGENT_REFUSAL = /^(?:\S+ std(?:err|out) F )?Error: (?!.*cannot connect)|main\.go:\d+\] error: /;

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
    "rejected",
  ],
  [/connection refused|ECONNREFUSED/, "refused"],
  [/no route to host|network is unreachable|EHOSTUNREACH|ENETUNREACH/, "no-route"],
  [/no such host|ENOTFOUND|EAI_AGAIN|server misbehaving/, "unresolved"],
  [/i\/o timeout|no answer in time|timed out|ETIMEDOUT|[dD]eadline ?[eE]xceeded/, "timeout"],
];

/** More logs would say the same. */
const MOST_AGENTS = 2_000;

export function agentLog({ agentLogs }: BundleFacts, file: string): LineReader {
  const log: AgentLog = { file, failure: undefined, connected: new Sighting(), refusal: new Sighting() };
  if (agentLogs.length < MOST_AGENTS) agentLogs.push(log);
  return (text, line) => {
    if (CONNECTED.test(text)) {
      log.connected.add(file, text, line);
      log.failure = undefined;
    } else if (FAILED.test(text)) {
      const kind = reasons.find(([pattern]) => pattern.test(text))?.[1];
      if (kind === undefined) return;
      // A new reason begins a new count: the old one has been overcome.
      if (log.failure?.kind !== kind) log.failure = { kind, seen: new Sighting() };
      log.failure.seen.add(file, text, line);
    } else if (AGENT_REFUSAL.test(text)) log.refusal.add(file, text, line);
  };
}

const STARTED = /proxy-server is up|Starting frontend server for client connections/;
const AGENT_CONNECTED = /\bagent connected\b/i;
const REFUSAL = /^(?:\S+ std(?:err|out) F |.*?\]: )?Error: |main\.go:\d+\] error: |failed to validate server options/;
const RESTARTED = /Scheduled restart job, restart counter is at \d+|Main process exited, code=exited, status=[1-9]/;

export function serverLog({ serverLog: log }: BundleFacts, file: string): LineReader {
  log.files++;
  return (text, line) => {
    if (AGENT_CONNECTED.test(text)) log.agentConnected.add(file, text, line);
    else if (STARTED.test(text)) log.started.add(file, text, line);
    else if (REFUSAL.test(text)) log.refusal.add(file, text, line);
    else if (RESTARTED.test(text)) log.restarted.add(file, text, line);
  };
}

export function apiServerLog({ noAgentAvailable }: BundleFacts, file: string): LineReader {
  return (text, line) => {
    if (/No agent available/.test(text)) noAgentAvailable.add(file, text, line);
  };
}

const CRASH_LOOP = /CrashLoopBackOff|back-off .* restarting failed container/i;
const CANNOT_START = /ErrImagePull|ImagePullBackOff|CreateContainerError|RunContainerError|CreateContainerConfigError/;

export function kubeletLog({ kubeletLog: log }: BundleFacts, file: string): LineReader {
  return (text, line) => {
    if (!/konnectivity-server/.test(text)) return;
    if (CRASH_LOOP.test(text)) log.crashLoop.add(file, text, line);
    else if (CANNOT_START.test(text)) log.cannotStart.add(file, text, line);
  };
}
