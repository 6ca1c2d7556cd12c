/** Everything that checks can ask for, by name. A source gathers those that it can (check.ts). */
import type { AddressChoice } from "../../cluster/bootstrap/address/choose.js";
import type { Network } from "../../cluster/bootstrap/address/ip.js";
import type { CleanupState } from "../../cluster/bootstrap/model/cleanup.js";
import type { BridgeModel } from "../../cluster/bootstrap/model/model.js";
import type { EgressReading } from "../../cluster/bootstrap/settings/egress-config.js";
import type { ApiServerSettings, CommandLine } from "../../cluster/bootstrap/settings/programs.js";
import type { currentCertificates } from "../../cluster/hosted/apply/apply.js";
import type { HostedConfig } from "../../cluster/hosted/config/config.js";
import type { KubeEndpoint } from "../../cluster/kube/endpoint.js";
import type { Lease } from "../../cluster/kube/lease.js";
import type { KubeApi } from "../../cluster/kube/port.js";
import type { Secret } from "../../cluster/nodes/objects.js";
import type { NodePool } from "../../cluster/nodes/pool/node-pool.js";
import type { Frontend } from "../../tunnel/client/frontend.js";
import type { InspectionReport } from "../../tunnel/pki/inspect/inspect.js";
import type { StartWarning } from "../../tunnel/start-warnings.js";
import type { HistoryInfo, Overview } from "../observe/admin/contract.js";
import type { Bundle } from "./bundle/bundle.js";
import type { ServiceRecord } from "./bundle/resources.js";
import type { BootstrapIgn } from "./checks/bootstrap-ign.js";
import type { findNetworks } from "./find-networks.js";
import type { AgentPort, AgentSettings } from "./host/as-agent.js";
import type { certificateAt } from "./host/as-client.js";
import type { readSocketFile } from "./host/this-host.js";
import type { DoctorRole, ProgramKind } from "./programs.js";
import type { DeclaredWebhook, listApiServices } from "./rehearsal/calls.js";
import type { TriedCredential } from "./sources/bootstrap-credential.js";
import type { askFrontend, connectedAgents } from "./sources/bridge.js";
import type { NetworkSecrets } from "./sources/cluster-network.js";
import type { HostedWorkload, ObservedCondition, ServerStrategies } from "./sources/hosted.js";
import type { ignitionAnswers, PendingRequests, PoolState } from "./sources/pool.js";
import type { BridgeRemains } from "./sources/remains.js";

/** A clock on another host, and this host's at the same time. */
export interface OtherClock {
  /** `the API server's` */
  readonly whose: string;
  readonly where: string;
  readonly here: Date;
  readonly there: Date;
  /** How long the answer took, and so how far off this may be. */
  readonly tookMs: number;
}

export interface Facts {
  /** The time by the clock of the host that is diagnosed. */
  readonly now: Date;

  // Of a host.
  readonly nodeVersion: string;
  readonly isFips: boolean;
  readonly networks: Awaited<ReturnType<typeof findNetworks>>;
  /** The host's own routes to each pod network. */
  readonly podRoutes: readonly { readonly prefix: Network; readonly routes: readonly string[] }[];
  /** The address that agents would be given now, and the one that certificates and agents were made for. */
  readonly address: AddressChoice & {
    readonly recorded: string | undefined;
    /** Whether there is no bridge here yet. */
    readonly isPlanned: boolean;
  };
  readonly listeners: readonly TcpListener[];
  readonly socket: SocketFileState;
  /** The certificates of this side. */
  readonly certificates: InspectionReport;
  readonly egress: EgressReading;
  /** The clean-up of an injected bridge, by what its unit wrote down and by the records of the host's services. */
  readonly cleanup: {
    readonly noted: (CleanupState & { readonly seen: string }) | undefined;
    /** The stage's failure in bootkube. */
    readonly inStage?: ServiceRecord["failed"];
    /** The record of the unit that outlives bootkube. */
    readonly later?: ServiceRecord | undefined;
  };

  // Of a program.
  readonly role: DoctorRole;
  readonly model: BridgeModel;
  /** The program that the role is about. */
  readonly program: {
    readonly kind: ProgramKind;
    readonly title: string;
    readonly running: RunningProgram | undefined;
    /** What to do where it does not run. */
    readonly start: string;
  };
  readonly openFiles: { readonly who: string; readonly line: string; readonly path: string };
  /** The answer, or why there is none. */
  readonly health: {
    readonly url: string;
    readonly answer: { readonly status: number; readonly body: string } | string;
  };
  /** What the running program said, or would say now, at its start of its files and flags. */
  readonly startWarnings: readonly StartWarning[];
  /** Ports that a server opens here. */
  readonly serverPorts: Readonly<Record<"agent" | "health" | "admin", number>>;
  /** The proxy-server's flags, from the process or from what starts it. */
  readonly serverFlags: CommandLine;
  /** What whoever dials each server as an agent gets; beside a server, whether its port is open, and its certificate. */
  readonly agentPorts: readonly AgentPort[];
  /** The running agent's, as it understood its own flags. */
  readonly agentSettings: AgentSettings;
  /** The sidecar's, dialled as it dials them. Without a failure they have accepted it. */
  readonly frontends: readonly {
    readonly frontend: Frontend;
    readonly where: string;
    readonly failure?: unknown;
    /** Why the sidecar's own user may not open the socket, by its mode. */
    readonly forbidden?: string | undefined;
  }[];
  readonly sidecar: SidecarSettings;
  readonly nameResolution: readonly NameResolution[];
  readonly ignitionPort: Awaited<ReturnType<typeof certificateAt>>;
  /** The addresses of the Ignition server that machines are given; a sentence when none is known. */
  readonly ignitionNames: readonly string[] | string;
  /** What the process answers on its admin port; `metrics` is empty when they could not be read. */
  readonly adminPort: {
    readonly address: string;
    readonly overview: Overview;
    readonly metrics: string;
    readonly history?: HistoryInfo | undefined;
    readonly clock?: OtherClock;
  };
  /** The API server's, or that of a process that was named with --admin. */
  readonly otherClock: OtherClock;
  /** The same, silently unavailable when the admin port does not answer: the check admin-api reports that. */
  readonly overview: Overview;
  /** The last ten minutes as the process remembers them; unavailable in the same way. */
  readonly history: HistoryInfo;
  /** Sockets among the listeners of the overview that accept no connection. */
  readonly deadSockets: readonly string[];

  // Of a cluster.
  readonly cluster: { readonly api: KubeApi; readonly server: string; readonly endpoint?: KubeEndpoint };
  /** Where pools, tokens and leases are: in that cluster, or in a directory. */
  readonly objects: KubeApi;
  readonly apiVersion: { readonly server: string; readonly version: string };
  /** Permissions that a bridge needs and the user lacks. */
  readonly missingPermissions: readonly string[];
  readonly lease: { readonly path: string; readonly namespace: string; readonly lease: Lease | undefined };
  readonly pools: { readonly namespace: string; readonly items: readonly NodePool[] };
  readonly tokenSecrets: { readonly namespace: string; readonly items: readonly Secret[] };

  // Of a pool of machines.
  readonly poolState: PoolState;
  readonly ignitionAnswers: Awaited<ReturnType<typeof ignitionAnswers>>;
  readonly bootstrapCredential: TriedCredential;
  readonly pendingRequests: PendingRequests;
  /** The Secrets that the cluster network of a hosted control plane waits for. */
  readonly networkSecrets: NetworkSecrets;
  /** Of nodes that are not Ready: why the pods that provide their network do not run, by the node's name. */
  readonly nodeNetworks: ReadonlyMap<string, readonly string[]>;

  // Of a hosted control plane.
  readonly hostedConfig: HostedConfig;
  /** The hosted cluster's API, for checks that let it call others. */
  readonly hostedApi: KubeApi;
  readonly infrastructureReady: ObservedCondition;
  readonly dataPlaneConnection: ObservedCondition;
  readonly controlPlaneConnection: ObservedCondition;
  /** The certificates as apply would leave them; `issued` are those that it would issue. */
  readonly issuedCertificates: Awaited<ReturnType<typeof currentCertificates>>;
  readonly apiServerDeployment: HostedWorkload;
  /** One entry for each running pod with a server: its agents by strategy, or why they are not known. */
  readonly serverStrategies: readonly ServerStrategies[];
  readonly controlPlaneAgents: { readonly workload: HostedWorkload | undefined };
  readonly agents: { readonly workload: HostedWorkload | undefined };
  readonly webhooks: readonly DeclaredWebhook[];
  readonly apiServices: Awaited<ReturnType<typeof listApiServices>>;

  // Of a bridge, from the kube-apiserver's side to the agents on every node.
  /** Where to look at agents and what they dial, for remedies. */
  readonly agentPlace: { readonly namespace: string; readonly dialled: string };
  /** What the server's frontend answers to a caller who speaks the kube-apiserver's protocol. */
  readonly frontendAnswer: Awaited<ReturnType<typeof askFrontend>>;
  readonly apiServer: ApiServerSettings;
  /** What the server's metrics tell of its agents. */
  readonly connectedAgents: NonNullable<ReturnType<typeof connectedAgents>>;
  readonly nodes: readonly { readonly name: string; readonly isReady: boolean }[];
  /** Namespaces in the cluster that carry a bridge's label. */
  readonly bridgeRemains: readonly BridgeRemains[];
  readonly bootstrapIgn: BootstrapIgn;
  readonly bundle: Bundle;
  readonly agentPodsByNode: ReadonlyMap<string, { readonly isReady: boolean; readonly state: string }>;
}

export interface RunningProgram extends CommandLine {
  readonly pid: number;
  /** Its whole command line. */
  readonly words: readonly string[];
  /** Further processes of the same program. */
  readonly others: readonly number[];
}

export interface TcpListener {
  readonly port: number;
  /** Undefined when it is another user's process and we are not root. */
  readonly owner: Pick<RunningProgram, "pid" | "words"> | undefined;
}

/** `isExpected`: whether a server must be listening there by now. */
export type SocketFileState = Awaited<ReturnType<typeof readSocketFile>> & { readonly isExpected?: boolean };

/** The running sidecar's settings, as it understood its own flags. */
export interface SidecarSettings {
  readonly frontends: readonly Frontend[];
  readonly listeners: readonly Omit<NameResolution, "hasCluster">[];
}

export interface NameResolution {
  /** Of the listener. */
  readonly name: string;
  /** Who resolves names: services, cluster-dns, here, agent. */
  readonly order: readonly string[];
  readonly fallbackDirect: boolean;
  /** Empty: the cluster it runs in. */
  readonly kubeconfig: string;
  /** Whether there is a cluster to ask: a pod's own, or the kubeconfig's. */
  readonly hasCluster: boolean;
}
