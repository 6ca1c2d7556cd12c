/** What somebody has to say about a hosted control plane; everything that is rendered follows from it. */
import type { ImageKind } from "../model/images.js";

export type PublishingType = "Route" | "NodePort" | "LoadBalancer";

export const publishingTypes = ["Route", "NodePort", "LoadBalancer"] as const satisfies readonly PublishingType[];

/** How agents in the hosted cluster reach the servers. */
export interface Publishing {
  readonly type: PublishingType;
  /** DNS name or IP address that agents dial; undefined where the cluster assigns it. */
  readonly host: string | undefined;
  /** What agents dial; the type's own where nothing was said. */
  readonly port: number;
  /** Who serves a Route: the management cluster's routers, or one inside the control plane's namespace. */
  readonly router: "management" | "cluster";
}

export interface ProxyUrls {
  readonly http: string;
  readonly https: string;
  readonly noProxy: readonly string[];
}

export interface CustomerProxy extends ProxyUrls {
  /** ConfigMap of the control plane's namespace with `ca-bundle.crt`. */
  readonly trustedCa: string | undefined;
}

export interface HostedConfig {
  readonly name: string;
  readonly controlPlaneNamespace: string;
  readonly publishing: Publishing;
  /** Servers, which is kube-apiservers. */
  readonly replicas: number;
  readonly image: {
    readonly kind: ImageKind;
    readonly server: string | undefined;
    readonly agent: string | undefined;
    readonly sidecar: string | undefined;
  };
  /** Addresses, names and prefixes that are served inside the control plane. */
  readonly aggregatedApis: readonly string[];
  /** `shared` is what a HyperShift has, to be put in its place. */
  readonly signers: "separate" | "shared";
  /** Of the hosted cluster. */
  readonly proxy: CustomerProxy | undefined;
  /** Of the management cluster, by which sidecars reach cloud APIs past the tunnel. */
  readonly managementProxy: ProxyUrls | undefined;
  readonly networks: {
    readonly machine: readonly string[];
    readonly service: readonly string[];
    readonly cluster: readonly string[];
  };
  readonly certificates: { readonly validDays: number; readonly renewDays: number };
  readonly tls: { readonly minVersion: string; readonly cipherSuites: readonly string[] };
  /** Whether agents in the hosted cluster stand in their nodes' network. */
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
