/** Everything that checks can ask for, by name. A source gathers those that it can (check.ts). */
import type { AddressChoice } from "../../cluster/bootstrap/address/choose.js";
import type { Prefix } from "../../cluster/bootstrap/address/ip.js";
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
import type { Frontend, FrontendProtocol } from "../../tunnel/client/frontend.js";
import type { InspectionReport } from "../../tunnel/pki/inspect/inspect.js";
import type { Overview } from "../observe/admin/contract.js";
import type { Bundle } from "./bundle/bundle.js";
import type { BootstrapIgn } from "./checks/bootstrap-ign.js";
import type { Handshake } from "./host/handshake.js";
import type { HostedCondition } from "./hosted/conditions.js";
import type { DoctorRole, ProgramKind } from "./programs.js";
import type { AggregatedApi, HostedWebhook, HostedWorkload } from "./sources/hosted.js";
import type { IgnitionAnswer, NetworkCertificate, PoolState, WaitingRequest } from "./sources/pool.js";
import type { WorkerFixes } from "./workers/fixes.js";

export interface Facts extends HostFacts, ProgramFacts, ClusterFacts, PoolFacts, HostedFacts, BridgeFacts {
  /** The time by the clock of the host that is diagnosed. */
  readonly now: Date;
}

interface HostFacts {
  readonly nodeVersion: string;
  readonly isFips: boolean;
  readonly networks: ClusterNetworks;
  /** The host's own routes to each pod network. */
  readonly podRoutes: readonly { readonly prefix: Prefix; readonly routes: readonly string[] }[];
  /** The address that agents would be given now, and the one that certificates and agents were made for. */
  readonly address: AddressChoice & { readonly recorded: string | undefined };
  readonly listeners: readonly TcpListener[];
  readonly socket: SocketFile;
  /** The certificates of this side. */
  readonly certificates: InspectionReport;
  readonly egress: EgressReading;
}

interface ProgramFacts {
  readonly role: DoctorRole;
  readonly model: BridgeModel;
  /** The program that the role is about. */
  readonly program: {
    readonly kind: ProgramKind;
    readonly title: string;
    readonly running: RunningProgram | undefined;
  };
  readonly openFiles: { readonly who: string; readonly line: string; readonly path: string };
  readonly health: HealthAnswer;
  /** Ports that a server opens here. */
  readonly serverPorts: { readonly agent: number; readonly health: number; readonly admin: number };
  /** The proxy-server's flags, from the process or from what starts it. */
  readonly serverFlags: CommandLine;
  /** What whoever dials the server as an agent gets. */
  readonly agentPort: Dialled;
  readonly frontends: readonly (
    | (Dialled & { readonly frontend: Frontend })
    | { readonly frontend: Frontend; readonly isListening: boolean }
  )[];
  readonly sidecar: SidecarSettings;
  readonly nameResolution: readonly NameResolution[];
  readonly ignitionPort: Pick<Dialled, "where" | "handshake">;
  /** The addresses of the Ignition server that machines are given; a sentence when none is known. */
  readonly ignitionNames: readonly string[] | string;
  /** What the process answers on its admin port; `metrics` is empty when they could not be read. */
  readonly adminPort: { readonly address: string; readonly overview: Overview; readonly metrics: string };
  /** The same, silently unavailable when the admin port does not answer: the check admin-api reports that. */
  readonly overview: Overview;
  /** Sockets among the listeners of the overview that accept no connection. */
  readonly deadSockets: readonly string[];
}

interface ClusterFacts {
  readonly cluster: { readonly api: KubeApi; readonly endpoint: KubeEndpoint };
  /** Where pools, tokens and leases are: in that cluster, or in a directory. */
  readonly objects: KubeApi;
  readonly apiVersion: { readonly server: string; readonly version: string };
  /** Permissions that a bridge needs and the user lacks. */
  readonly missingPermissions: readonly string[];
  readonly apiTime: { readonly server: string; readonly here: Date; readonly there: Date; readonly tookMs: number };
  readonly lease: { readonly path: string; readonly namespace: string; readonly lease: Lease | undefined };
  readonly pools: { readonly namespace: string; readonly items: readonly NodePool[] };
  readonly tokenSecrets: { readonly namespace: string; readonly items: readonly Secret[] };
}

interface PoolFacts {
  readonly poolState: PoolState;
  readonly ignitionAnswers: readonly IgnitionAnswer[];
  readonly waitingRequests: readonly WaitingRequest[];
  /** The Secret that the cluster network of a hosted control plane waits for. */
  readonly networkCertificate: NetworkCertificate;
  /** Repairs that findings may offer. */
  readonly fixes: WorkerFixes;
}

interface HostedFacts {
  readonly hostedConfig: HostedConfig;
  /** The hosted cluster's API, for checks that let it call others. */
  readonly hostedApi: KubeApi;
  readonly infrastructureReady: HostedCondition;
  readonly dataPlaneConnection: HostedCondition;
  readonly controlPlaneConnection: HostedCondition;
  /** The certificates as apply would leave them; `issued` are those that it would issue. */
  readonly issuedCertificates: Awaited<ReturnType<typeof currentCertificates>>;
  readonly apiServerDeployment: HostedWorkload;
  readonly controlPlaneAgents: { readonly workload: HostedWorkload | undefined };
  readonly agents: { readonly workload: HostedWorkload | undefined };
  readonly webhooks: readonly HostedWebhook[];
  readonly apiServices: readonly AggregatedApi[];
}

/** A bridge, from the kube-apiserver's side to the agents on every node. */
interface BridgeFacts {
  /** Where to look at agents and what they dial, for remedies. */
  readonly agentPlace: { readonly namespace: string; readonly dialled: string };
  readonly frontendAnswer: FrontendAnswer;
  readonly apiServer: ApiServerSettings;
  readonly connectedAgents: ConnectedAgents;
  readonly nodes: readonly { readonly name: string; readonly isReady: boolean }[];
  readonly bootstrapIgn: BootstrapIgn;
  readonly bundle: Bundle;
  readonly agentPodsByNode: ReadonlyMap<string, { readonly isReady: boolean; readonly state: string }>;
}

/** What the server's frontend answers to a caller who speaks the kube-apiserver's protocol. */
export interface FrontendAnswer {
  readonly where: string;
  readonly mode: FrontendProtocol;
  /** Undefined: it speaks that protocol. */
  readonly failure: { readonly message: string; readonly isClosed: boolean } | undefined;
}

/** What the server's metrics tell of its agents. */
export interface ConnectedAgents {
  readonly count: number;
  /** Only drawbridge's own server names them. */
  readonly ids: readonly string[] | undefined;
}

export interface ClusterNetworks {
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

export interface TcpListener {
  readonly port: number;
  /** Undefined when it is another user's process and we are not root. */
  readonly owner: { readonly pid: number; readonly words: readonly string[] } | undefined;
}

export interface SocketFile {
  readonly path: string;
  /** Whether a server must be listening there by now. */
  readonly isExpected?: boolean;
  /** Undefined: it does not exist. */
  readonly directory: { readonly path: string; readonly isDirectory: boolean; readonly mode: number } | undefined;
  readonly file: { readonly isSocket: boolean; readonly mode: number; readonly isListening: boolean } | undefined;
}

export interface HealthAnswer {
  readonly url: string;
  /** Or why there is none. */
  readonly answer: { readonly status: number; readonly body: string } | string;
}

/** A TLS port as the other side sees it. */
export interface Dialled {
  /** `host:port` */
  readonly where: string;
  readonly port: number;
  /** What diallers call the server; empty when that is not known. */
  readonly names: readonly string[];
  readonly handshake: Handshake;
  /** The dialler's authorities, where they are known. */
  readonly ca?: { readonly file: string; readonly text: string | undefined };
}

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
