/** Everything the rules may look at, filled while the bundle streams by. Bounded: counts and a few lines, never logs. */
import type { X509Certificate } from "node:crypto";
import { type Evidence, Sighting } from "../evidence.js";
import type { ServiceRecord } from "./service-records.js";

/** Why an agent does not get through to its server. */
export type ConnectFailure =
  | "timeout"
  | "refused"
  | "no-route"
  | "unresolved"
  | "san"
  | "expired"
  | "not-yet-valid"
  | "unknown-authority"
  | "turned-away";

export interface AgentLog {
  readonly file: string;
  /** What it failed of last, unless it got through after that. */
  failure: { readonly kind: ConnectFailure; readonly seen: Sighting } | undefined;
  connected: Sighting;
  refusal: Sighting;
}

export interface ContainerState {
  readonly name: string;
  readonly seen: Evidence;
  /** How often it was started before. */
  readonly restarts: number;
  readonly running: boolean;
  readonly exitCode: number | undefined;
  readonly reason: string;
}

export interface PodState {
  readonly name: string;
  readonly node: string;
  readonly role: "server" | "agent";
  readonly phase: string;
  readonly ready: boolean;
  /** Reasons the kubelet or the scheduler gives: CrashLoopBackOff, Unschedulable, ... with their message. */
  readonly waiting: { readonly reason: string; readonly message: string } | undefined;
  readonly seen: Evidence;
}

export interface FoundCertificate {
  readonly file: string;
  readonly certificate: X509Certificate;
}

/** Arguments of a server or an agent, and where they stand. */
export interface Arguments {
  readonly words: readonly string[];
  readonly image: string;
  readonly seen: Evidence;
}

export interface EgressSelection {
  readonly protocol: string;
  readonly socket: string;
  readonly seen: Evidence;
}

export class Facts {
  kind: "openshift-install" | "drawbridge" | undefined;
  /** When the bundle was made, by the clock of the host it was made on. */
  gatheredAt: Date | undefined;
  readonly services = new Map<string, ServiceRecord>();
  readonly agents: AgentLog[] = [];
  readonly server = {
    /** A log of it is in the bundle. */
    logs: 0,
    started: new Sighting(),
    agentConnected: new Sighting(),
    refusal: new Sighting(),
    restarted: new Sighting(),
    /** klog's `MMDD hh:mm:ss` of the first agent. */
    firstAgentAt: undefined as string | undefined,
  };
  readonly apiServer = {
    noAgent: new Sighting(),
    lastNoAgentAt: undefined as string | undefined,
    noServer: new Sighting(),
  };
  readonly kubelet = { crashLoop: new Sighting(), cannotStart: new Sighting() };
  readonly containers: ContainerState[] = [];
  readonly pods: PodState[] = [];
  /** Events about pods that nobody would create. */
  readonly forbidden = new Sighting();
  readonly unschedulable = new Sighting();
  readonly certificates: FoundCertificate[] = [];
  readonly serverArguments: Arguments[] = [];
  readonly agentArguments: Arguments[] = [];
  readonly egress: EgressSelection[] = [];
  /** Of the bootstrap host; undefined when not told. */
  addresses: { readonly all: ReadonlySet<string>; readonly seen: Evidence } | undefined;
  listeners: { readonly ports: ReadonlySet<number>; readonly seen: Evidence } | undefined;
  ready: { readonly status: number; readonly seen: Evidence } | undefined;
  /** Agents by strategy, from the server's metrics. */
  backends: { readonly byStrategy: ReadonlyMap<string, number>; readonly seen: Evidence } | undefined;
  readonly observations: string[] = [];
}
