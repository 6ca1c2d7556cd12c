/** What the checks know and how they ask this host; everything that tests must be able to play. */
import type { HostNetwork } from "../../cluster/bootstrap/address/index.js";
import type { BridgeModel } from "../../cluster/bootstrap/model/model.js";
import type { CommandLine } from "../../cluster/bootstrap/settings/command-line.js";
import type { KubeApi } from "../../cluster/kube/port.js";
import type { Frontend } from "../../tunnel/client/frontend.js";
import type { Overview } from "../observe/admin/contract.js";
import type { Role } from "./diagnosis.js";
import type { Program } from "./program.js";

export interface Networks {
  readonly machine: readonly string[];
  readonly pod: readonly string[];
  readonly service: readonly string[];
  /** Where they were read: "flags", "the install directory", ... */
  readonly from: string;
}

export interface RunningProgram extends CommandLine {
  readonly pid: number;
  /** Its whole command line. */
  readonly words: readonly string[];
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
  /** The program of this kind that runs in this network. */
  running(program: Program): Promise<RunningProgram | undefined>;
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

/** What the process says about itself on its admin port. */
export type AdminView =
  | {
      readonly state: "open";
      /** `host:port` */
      readonly address: string;
      readonly overview: Overview;
      /** Empty when they are not to be had. */
      readonly metrics: string;
    }
  /** There is an admin port and a token for it, but no answer. */
  | { readonly state: "failed"; readonly why: string; readonly remedy: string }
  /** Nobody said where it is, or with which token. */
  | { readonly state: "closed"; readonly remedy: string };

/** The running sidecar's settings, as it understood its own flags. */
export interface SidecarWays {
  readonly frontends: readonly Frontend[];
  readonly listeners: readonly {
    readonly name: string;
    /** Who looks names up: services, cluster-dns, here, agent. */
    readonly order: readonly string[];
    readonly fallbackDirect: boolean;
    /** Empty: the cluster it runs in. */
    readonly kubeconfig: string;
  }[];
}

/** Where pools, tokens and leases are: in a cluster or in a directory. */
export interface PoolObjects {
  readonly api: KubeApi;
  readonly namespace: string;
}

export interface DoctorContext {
  readonly role: Role;
  readonly model: BridgeModel;
  readonly host: DoctorHost;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  /** Where agents dial the server, or machines the Ignition server; undefined when nobody said and nothing tells. */
  readonly address: string | undefined;
  readonly agentPort: number;
  readonly pki: string;
  readonly socket: string;
  readonly egressConfig: string;
  readonly ports: { readonly health: number; readonly admin: number };
  readonly networks: Networks;
  /** Undefined: no kubeconfig. A sentence: it cannot be used. */
  readonly cluster: Cluster | string | undefined;
  readonly admin: AdminView;
  /** A sentence: its flags cannot be understood. */
  readonly sidecar: SidecarWays | string | undefined;
  readonly objects: PoolObjects | string | undefined;
}
