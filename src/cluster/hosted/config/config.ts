/** The description of a hosted control plane, from which everything that is rendered follows. */
import type { HostedImageKind } from "../model/images.js";

export type PublishingType = "Route" | "NodePort" | "LoadBalancer";

export const publishingTypes = ["Route", "NodePort", "LoadBalancer"] as const satisfies readonly PublishingType[];

/** How agents in the hosted cluster reach the servers. */
export interface Publishing {
  readonly type: PublishingType;
  /** DNS name or IP address that agents dial; undefined where the cluster assigns it. */
  readonly host: string | undefined;
  /** The port that agents dial; the type's usual one unless the description names another. */
  readonly port: number;
  /** Who serves a Route: the management cluster's routers, or one inside the control plane's namespace. */
  readonly router: "management" | "cluster";
}

export interface ProxyUrls {
  readonly http: string;
  readonly https: string;
  readonly noProxy: readonly string[];
  /** Secret with both URLs, as httpProxy and httpsProxy, in their place: they are in no pod's specification then. */
  readonly secret: string | undefined;
}

export interface CustomerProxy extends ProxyUrls {
  /** ConfigMap of the control plane's namespace with `ca-bundle.crt`. */
  readonly trustedCa: string | undefined;
}

/** How the hosted cluster finds an API: a Service without pods, and APIServices that lead to it. */
export interface Registration {
  /** Of the Service. */
  readonly name: string;
  readonly served: readonly { readonly group: string; readonly version: string }[];
  readonly groupPriorityMinimum: number;
  readonly versionPriority: number;
  /** Who signed the API's own certificate; PEM. */
  readonly caBundle: string;
}

/** Something that is served inside the control plane. */
export interface ServedApi {
  /** IP address, name or prefix. */
  readonly address: string;
  /** Undefined where another program registers the API. */
  readonly registration: Registration | undefined;
}

/** For what only a cloud's machines have to reach; others need nothing. */
export type HostedPlatform =
  | { readonly type: "AWS"; readonly region: string }
  | { readonly type: "Azure"; readonly cloud: AzureCloud };

export const azureClouds = [
  "AzurePublicCloud",
  "AzureUSGovernmentCloud",
  "AzureChinaCloud",
  "AzureGermanCloud",
  "AzureStackCloud",
] as const;
type AzureCloud = (typeof azureClouds)[number];

export interface HostedConfig {
  readonly name: string;
  readonly controlPlaneNamespace: string;
  readonly publishing: Publishing;
  /** Servers, which is kube-apiservers. */
  readonly replicas: number;
  readonly image: {
    readonly kind: HostedImageKind;
    readonly server: string | undefined;
    readonly agent: string | undefined;
    readonly sidecar: string | undefined;
  };
  /** The one list behind identifiers, claim rules and the hosted cluster's objects. */
  readonly aggregatedApis: readonly ServedApi[];
  /** `shared` is what a HyperShift has, to be put in its place. */
  readonly signers: "separate" | "shared";
  /** Of the hosted cluster. */
  readonly proxy: CustomerProxy | undefined;
  /** Of the management cluster, by which sidecars reach cloud APIs past the tunnel. */
  readonly managementProxy: ProxyUrls | undefined;
  readonly platform: HostedPlatform | undefined;
  readonly networks: {
    readonly machine: readonly string[];
    readonly service: readonly string[];
    readonly cluster: readonly string[];
  };
  readonly certificates: { readonly validDays: number; readonly renewDays: number };
  readonly tls: { readonly minVersion: string; readonly cipherSuites: readonly string[] };
  /** Whether agents in the hosted cluster use their nodes' network. */
  readonly agentHostNetwork: boolean;
  /** Whether pods of the hosted cluster stamp that they reach the kube-apiserver. */
  readonly connectionChecker: boolean;
  /** The management cluster chooses users for pods itself (OpenShift), and refuses others. */
  readonly managementChoosesUsers: boolean;
  /** Of the control-plane agents; undefined for none. */
  readonly priorityClass: string | undefined;
  /** Port of the kube-apiserver itself, which a network policy must leave open. */
  readonly apiServerPort: number;
}
