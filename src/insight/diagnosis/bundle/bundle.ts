/** The facts in a bundle, collected while its files stream by. They are bounded: counts and a few lines, never logs. */
import type { X509Certificate } from "node:crypto";
import type { Judgement } from "../../../base/finding.js";
import { redact } from "../../../base/redact/redact.js";
import { plainText } from "../../../base/text.js";
import type { CleanupState } from "../../../cluster/bootstrap/model/cleanup.js";
import type { EgressReading } from "../../../cluster/bootstrap/settings/egress-config.js";
import type { CommandLine } from "../../../cluster/bootstrap/settings/programs.js";
import { type Check, defineCheck } from "../check.js";
import type { ServiceRecord } from "./resources.js";

const LONGEST_TEXT = 320;

/** `file:line: text`, the text shortened and without anything secret. */
export function evidence(file: string, text: string, line?: number): string {
  return `${file}${line === undefined ? "" : `:${line}`}: ${plainText(redact(text), LONGEST_TEXT)}`;
}

/** The line of a text that holds a part first; 1 when none does. */
export function lineWith(text: string, part: string): number {
  const position = part === "" ? -1 : text.indexOf(part);
  return position < 0 ? 1 : text.slice(0, position).split("\n").length;
}

/** klog's `MMDD hh:mm:ss` of a line: comparable on one host, though not over a New Year. */
export const klogTime = (text: string): string | undefined => /\b[IWEF](\d{4} \d\d:\d\d:\d\d)\.\d/.exec(text)?.[1];

/** A kind of line that was seen, perhaps many times: the first and the last are enough to find the rest. */
export class Sighting {
  count = 0;
  first: string | undefined;
  last: string | undefined;
  firstAt: string | undefined;
  lastAt: string | undefined;

  add(file: string, text: string, line?: number): void {
    this.count++;
    this.last = evidence(file, text, line);
    this.first ??= this.last;
    const at = klogTime(text);
    this.firstAt ??= at;
    this.lastAt = at ?? this.lastAt;
  }

  /** Seen, and not followed by the other: what was overcome later is not so any more. */
  isAfter(other: Sighting): boolean {
    return this.count > 0 && (other.count === 0 || (this.lastAt ?? "") > (other.lastAt ?? ""));
  }

  get evidence(): string[] {
    return [...new Set([this.first, this.last])].filter((line) => line !== undefined);
  }
}

/** Why an agent cannot connect to its server. */
export type ConnectFailure =
  | "unresolved"
  | "proxied"
  | "handshake"
  | "timeout"
  | "refused"
  | "no-route"
  | "san"
  | "expired"
  | "not-yet-valid"
  | "unknown-authority"
  | "rejected";

export interface AgentLog {
  /** Its last failure, unless it connected after that. */
  failure: { readonly kind: ConnectFailure; readonly seen: Sighting } | undefined;
  readonly connected: Sighting;
  readonly refusal: Sighting;
}

/** How a kube-apiserver fails to reach the server's socket. */
export const socketFailures = ["permission denied", "no such file or directory", "connection refused"] as const;
export type SocketFailure = (typeof socketFailures)[number];

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
type FoundProgram = CommandLine & { readonly seen: string };

export class Bundle {
  kind: "openshift-install" | "drawbridge" | undefined = undefined;
  /** When it was made, by the clock of the host it was made on. */
  gatheredAt: Date | undefined = undefined;
  /** Sentences that are neither ok nor failed but help to read the findings. */
  readonly observations: string[] = [];
  /** Why it could not be read to its end, and how much was read before. */
  incomplete: { readonly why: string; readonly files: number; readonly bytes: number } | undefined = undefined;
  /** Whether it has anything of the bootstrap host. */
  hasHostFiles = false;
  /** Services of the bootstrap host. */
  readonly services = new Map<string, ServiceRecord>();
  /** A clean-up that outlasted its stage. */
  cleanup: (CleanupState & { readonly seen: string }) | undefined = undefined;
  readonly agentLogs: AgentLog[] = [];
  /** How many logs of the server it has. */
  serverLogs = 0;
  /** Lines of logs, and events, that mean something. */
  readonly seen = {
    serverStarted: new Sighting(),
    serverRefusal: new Sighting(),
    serverRestarted: new Sighting(),
    /** By the server's log. */
    agentConnected: new Sighting(),
    /** By the log of the kube-apiserver. */
    noAgentAvailable: new Sighting(),
    apiServerEnded: new Sighting(),
    webhookFailed: new Sighting(),
    /** By the kubelet's log. */
    serverCrashLoop: new Sighting(),
    serverCannotStart: new Sighting(),
    diskFull: new Sighting(),
    /** By events about the agents' pods. */
    podsForbidden: new Sighting(),
    podsUnschedulable: new Sighting(),
  };
  /** By the log of the kube-apiserver: the socket that it dialled last, and why it could not use it. */
  readonly socketFailures = new Map<SocketFailure, { socket: string; readonly seen: Sighting }>();
  readonly containers: ContainerState[] = [];
  readonly agentPods: AgentPodState[] = [];
  readonly certificates: { readonly file: string; readonly certificate: X509Certificate }[] = [];
  readonly servers: FoundProgram[] = [];
  readonly agents: FoundProgram[] = [];
  /** The kube-apiserver: as it runs, and as its manifest or configuration would start it. */
  readonly apiServer: { running?: FoundProgram; written?: FoundProgram } = {};
  egress: EgressReading | undefined = undefined;
  hostAddresses: { readonly all: ReadonlySet<string>; readonly seen: string } | undefined = undefined;
  listeningPorts: { readonly ports: ReadonlySet<number>; readonly seen: string } | undefined = undefined;
  /** What lies in the directory of the server's socket. */
  socketDirectory: { readonly sockets: readonly string[]; readonly seen: string } | undefined = undefined;
  /** The server's answer to /readyz. */
  readiness: { readonly status: number; readonly seen: string } | undefined = undefined;
  /** Connected agents by strategy, from the server's metrics. */
  backends: { readonly byStrategy: ReadonlyMap<string, number>; readonly seen: string } | undefined = undefined;

  /** Whether the server had been removed: agents without one are then as they should be. */
  get isTakenDown(): boolean {
    // The server goes also where the objects of the agents could not be deleted.
    return this.services.get("bootkube")?.ended.has(CLEANUP) ?? false;
  }

  /** Whether anything shows that a server was to run here. */
  get hasServer(): boolean {
    return (this.servers.length > 0 || this.serverLogs > 0) && !this.isTakenDown;
  }

  /** Agents whose last attempt to connect failed for this reason. */
  failing(kind: ConnectFailure): AgentLog[] {
    return this.isTakenDown || this.isEveryAgentConnected
      ? []
      : this.agentLogs.filter(({ failure }) => failure?.kind === kind);
  }

  /**
   * By the server's metrics, which are younger than any log: some agents do not log that they connected in the end.
   * Whom it counts it does not say, so as many must be connected as there are, workers included, whose logs are nowhere.
   */
  get isEveryAgentConnected(): boolean {
    return this.agentPods.length > 0 && this.#areConnected(Math.max(this.agentLogs.length, this.agentPods.length));
  }

  /** Those with logs may be the ones that the server counts; nobody knows, because there is no list of agents. */
  get mayBeConnected(): boolean {
    return this.agentPods.length === 0 && this.#areConnected(this.agentLogs.length);
  }

  #areConnected(agents: number): boolean {
    // An agent may claim any number of hosts.
    const counts = [...(this.backends?.byStrategy ?? [])].filter(([strategy]) => strategy !== "destHost");
    const connected = Math.max(0, ...counts.map(([, count]) => count));
    return connected > 0 && connected >= agents;
  }

  /** The last lines of the first agents that failed for this reason. */
  failureLines(kind: ConnectFailure): string[] {
    const some = this.failing(kind).slice(0, 3);
    return some.flatMap(({ failure }) => failure?.seen.last ?? []);
  }
}

/** The stage that takes the bridge away. */
export const CLEANUP = "konnectivity-cleanup";

/** A check of a bundle. `judge` gives nothing where the bundle shows nothing wrong. */
export function bundleCheck(
  id: string,
  about: string,
  judge: (bundle: Bundle) => Judgement | readonly Judgement[] | undefined,
): Check {
  return defineCheck({ id, about, needs: ["bundle"], judge: ({ bundle }) => judge(bundle) });
}
