/** The installation that doctor looks at: what flags and running programs say, and how this host is asked. */
import type { HostNetwork } from "../../cluster/bootstrap/address/host-network.js";
import type { BridgeModel } from "../../cluster/bootstrap/model/model.js";
import type { KubeApi } from "../../cluster/kube/port.js";
import type { Frontend } from "../../tunnel/client/frontend.js";
import type { Overview } from "../observe/admin/contract.js";
import type { ClusterNetworks, NameResolution, RunningProgram, TcpListener } from "./facts.js";
import type { DoctorRole, ProgramKind } from "./programs.js";

/** A host that is asked without changing anything. */
export interface DoctorHost {
  readonly network: HostNetwork;
  /** TCP listeners in this network. */
  listeners(): Promise<readonly TcpListener[]>;
  /** The program of this kind that runs in this network. */
  running(program: ProgramKind): Promise<RunningProgram | undefined>;
  /** Undefined when the file does not exist. */
  readText(path: string): Promise<string | undefined>;
  /** Routes that cover an address, the default route left out; each as `ip` prints it. */
  routesTo(address: string): Promise<readonly string[]>;
}

export interface DoctorCluster {
  readonly api: KubeApi;
  readonly server: string;
  /** The Date header of an answer, and how long that took. */
  date(): Promise<{ readonly date: Date; readonly tookMs: number }>;
  close(): void;
}

/** The process on its own admin port. */
export type AdminView =
  | {
      readonly state: "open";
      /** `host:port` */
      readonly address: string;
      readonly overview: Overview;
      /** Empty when they could not be read. */
      readonly metrics: string;
    }
  /** There is an admin port and a token for it, but no answer. */
  | { readonly state: "failed"; readonly why: string; readonly remedy: string }
  /** Its address or its token is not known. */
  | { readonly state: "closed"; readonly remedy: string };

/** The running sidecar's settings, as it understood its own flags. */
export interface SidecarSettings {
  readonly frontends: readonly Frontend[];
  readonly listeners: readonly Omit<NameResolution, "hasCluster">[];
}

/** Where pools, tokens and leases are: in a cluster or in a directory. */
export interface PoolObjects {
  readonly api: KubeApi;
  readonly namespace: string;
}

export interface DoctorContext {
  readonly role: DoctorRole;
  readonly model: BridgeModel;
  readonly host: DoctorHost;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  /** Where agents dial the server, or machines the Ignition server; undefined when it is not known. */
  readonly address: string | undefined;
  readonly agentPort: number;
  readonly pki: string;
  readonly socket: string;
  readonly egressConfig: string;
  readonly ports: { readonly health: number; readonly admin: number };
  readonly networks: ClusterNetworks;
  /** Undefined: no kubeconfig. A sentence: it cannot be used. */
  readonly cluster: DoctorCluster | string | undefined;
  readonly admin: AdminView;
  /** A sentence: its flags cannot be understood. */
  readonly sidecar: SidecarSettings | string | undefined;
  readonly objects: PoolObjects | string | undefined;
}
