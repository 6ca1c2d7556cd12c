/** What the checks know and how they ask this host; everything that tests must be able to play. */
import type { HostNetwork } from "../bootstrap/address/index.js";
import type { BridgeModel } from "../bootstrap/model/model.js";
import type { CommandLine } from "../bootstrap/verify/host/command-line.js";
import type { KubeApi } from "../kube/port.js";
import type { Role } from "./diagnosis.js";

export interface Networks {
  readonly machine: readonly string[];
  readonly pod: readonly string[];
  readonly service: readonly string[];
  /** Where they were read: "flags", "the install directory", ... */
  readonly from: string;
}

export interface RunningProgram extends CommandLine {
  readonly pid: number;
}

export interface Listener {
  readonly port: number;
  /** Undefined when it is another user's process and we are not root. */
  readonly owner: { readonly pid: number; readonly words: readonly string[] } | undefined;
}

/** This host, as far as it can be asked without changing anything. */
export interface DoctorHost {
  readonly network: HostNetwork;
  /** TCP listeners in this network. */
  listeners(): Promise<readonly Listener[]>;
  /** The proxy-server or proxy-agent that runs in this network. */
  running(program: "server" | "agent"): Promise<RunningProgram | undefined>;
  /** Undefined when it is not there. */
  readText(path: string): Promise<string | undefined>;
  /** Routes that cover an address, the default route left out; each as `ip` prints it. */
  routesTo(address: string): Promise<readonly string[]>;
}

export interface Cluster {
  readonly api: KubeApi;
  readonly server: string;
  /** The Date header of an answer, and how long that took. */
  date(): Promise<{ readonly date: Date; readonly tookMs: number }>;
  close(): void;
}

export interface DoctorContext {
  readonly role: Role;
  readonly model: BridgeModel;
  readonly host: DoctorHost;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  /** Where agents dial the server; undefined when nobody said and nothing tells. */
  readonly address: string | undefined;
  readonly agentPort: number;
  readonly pki: string;
  readonly socket: string;
  readonly egressConfig: string;
  readonly ports: { readonly health: number; readonly admin: number };
  readonly networks: Networks;
  /** Undefined: no kubeconfig. A sentence: it cannot be used. */
  readonly cluster: Cluster | string | undefined;
}
