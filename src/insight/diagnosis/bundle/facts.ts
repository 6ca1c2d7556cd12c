/** The facts in a bundle, collected while its files stream by. They are bounded: counts and a few lines, never logs. */
import type { X509Certificate } from "node:crypto";
import { redact } from "../../../base/redact/redact.js";
import { plainText } from "../../../base/text.js";
import type { EgressReading } from "../../../cluster/bootstrap/settings/egress-config.js";
import type { CommandLine } from "../../../cluster/bootstrap/settings/programs.js";
import type { ServiceRecord } from "./service-records.js";

const LONGEST_TEXT = 320;

/** `file:line: text`, the text shortened and without anything secret. */
export function evidence(file: string, text: string, line?: number): string {
  return `${file}${line === undefined ? "" : `:${line}`}: ${plainText(redact(text), LONGEST_TEXT)}`;
}

/** A kind of line that was seen, perhaps many times: the first and the last are enough to find the rest. */
export class Sighting {
  count = 0;
  first: string | undefined;
  last: string | undefined;
  /** klog's `MMDD hh:mm:ss` of the first and the last: comparable on one host, though not over a New Year. */
  firstAt: string | undefined;
  lastAt: string | undefined;

  add(file: string, text: string, line?: number): void {
    this.count++;
    this.last = evidence(file, text, line);
    this.first ??= this.last;
    const at = /\b[IWEF](\d{4} \d\d:\d\d:\d\d)\.\d/.exec(text)?.[1];
    this.firstAt ??= at;
    this.lastAt = at ?? this.lastAt;
  }

  get evidence(): string[] {
    return [...new Set([this.first, this.last])].filter((line) => line !== undefined);
  }
}

/** Why an agent cannot connect to its server. */
export type ConnectFailure =
  | "timeout"
  | "refused"
  | "no-route"
  | "unresolved"
  | "san"
  | "expired"
  | "not-yet-valid"
  | "unknown-authority"
  | "rejected";

export interface AgentLog {
  readonly file: string;
  /** Its last failure, unless it connected after that. */
  failure: { readonly kind: ConnectFailure; readonly seen: Sighting } | undefined;
  readonly connected: Sighting;
  readonly refusal: Sighting;
}

export interface ContainerState {
  readonly name: string;
  readonly seen: string;
  /** How often it was started before. */
  readonly restarts: number;
  readonly running: boolean;
  readonly exitCode: number | undefined;
  readonly reason: string;
}

export interface AgentPodState {
  readonly node: string;
  readonly phase: string;
  /** The reason that the kubelet or the scheduler gives (CrashLoopBackOff, Unschedulable, ...) with its message. */
  readonly waiting: { readonly reason: string; readonly message: string } | undefined;
  readonly seen: string;
}

/** A program's flags, and the line where they were found. */
export interface FoundProgram extends CommandLine {
  readonly seen: string;
}

export class BundleFacts {
  bundle = {
    kind: undefined as "openshift-install" | "drawbridge" | undefined,
    /** When it was made, by the clock of the host it was made on. */
    gatheredAt: undefined as Date | undefined,
    /** What is neither right nor wrong but helps to read the rest; one sentence each. */
    observations: [] as string[],
  };
  /** Services of the bootstrap host. */
  readonly services = new Map<string, ServiceRecord>();
  readonly agentLogs: AgentLog[] = [];
  readonly serverLog = {
    /** How many logs of it are in the bundle. */
    files: 0,
    started: new Sighting(),
    agentConnected: new Sighting(),
    refusal: new Sighting(),
    restarted: new Sighting(),
  };
  /** "No agent available" in the log of the kube-apiserver. */
  readonly noAgentAvailable = new Sighting();
  readonly kubeletLog = { crashLoop: new Sighting(), cannotStart: new Sighting() };
  readonly containers: ContainerState[] = [];
  readonly agentPods: AgentPodState[] = [];
  readonly podEvents = { forbidden: new Sighting(), unschedulable: new Sighting() };
  readonly certificateFiles: { readonly file: string; readonly certificate: X509Certificate }[] = [];
  readonly serverPrograms: FoundProgram[] = [];
  readonly agentPrograms: FoundProgram[] = [];
  readonly egressFiles: EgressReading[] = [];
  hostAddresses: { readonly all: ReadonlySet<string>; readonly seen: string } | undefined = undefined;
  listeningPorts: { readonly ports: ReadonlySet<number>; readonly seen: string } | undefined = undefined;
  readiness: { readonly status: number; readonly seen: string } | undefined = undefined;
  /** Connected agents by strategy, from the server's metrics. */
  backends: { readonly byStrategy: ReadonlyMap<string, number>; readonly seen: string } | undefined = undefined;
}

/** The line of a text that holds a part first; 1 when none does. */
export function lineWith(text: string, part: string): number {
  const position = part === "" ? -1 : text.indexOf(part);
  return position < 0 ? 1 : text.slice(0, position).split("\n").length;
}
