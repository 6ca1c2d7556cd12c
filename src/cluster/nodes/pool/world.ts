/** Everything a pass over a pool looks at, gathered before it begins: the pass itself asks nobody. */
import type { KubeObject } from "../../kube/port.js";
import type { ClusterConfiguration, ClusterNetworks } from "../hash/global-config.js";
import type { ConfigSource } from "../hash/raw-config.js";
import type { ConfigMap, ObjectName, Secret } from "../objects.js";
import type { Condition, NodePool } from "./node-pool.js";

/** The hosted cluster, or the object of ours that stands in for one. */
export interface Cluster {
  readonly name: ObjectName;
  readonly owner: { readonly apiVersion: string; readonly kind: string; readonly uid: string };
  readonly deleting: boolean;
  /** Without HyperShift some conditions have nothing to say: see `omittedStandalone`. */
  readonly standalone: boolean;
  readonly controlPlaneNamespace: string;
  /** Empty until the cluster has one. */
  readonly infraId: string;
  /** Of the control plane; empty until known. */
  readonly version: string;
  /** Whether machines could reach an API at all. */
  readonly kubeconfigReady: boolean;
  readonly ignitionEndpoint: string;
  /** Empty until the Secret is there. */
  readonly ignitionCaPem: string;
  readonly pullSecret: Dependency<Uint8Array>;
  /** Undefined when the cluster names none. */
  readonly trustBundle: Dependency<string> | undefined;
  readonly configuration: ClusterConfiguration | undefined;
  readonly networks: ClusterNetworks | undefined;
  readonly restoredFromBackup: boolean;
}

/** Something another object is named for; its content is undefined while it, or its key, is missing. */
export interface Dependency<T> {
  readonly name: string;
  readonly content: T | undefined;
}

export type Release =
  | { readonly version: string /** `multi`, or the one architecture it is for. */; readonly arch: string }
  | { readonly problem: string };

export interface MachineConfigs {
  /** The API server's local proxy; empty when another part of the system provides it. */
  readonly generated: readonly ConfigSource[];
  /** Labelled as core configuration; `expected` is undefined where nobody promises a number. */
  readonly core: readonly ConfigSource[];
  readonly expectedCore: number | undefined;
  /** Of spec.config, in its order; undefined text: the ConfigMap, or its key, is missing. */
  readonly named: readonly { readonly where: string; readonly text: string | undefined }[];
  readonly tuning: readonly ConfigSource[];
}

export interface Machine extends KubeObject {
  readonly status?: { readonly conditions?: readonly Pick<Condition, "type" | "status" | "reason" | "message">[] };
}

export interface World {
  readonly pool: NodePool;
  readonly cluster: Cluster | undefined;
  /** What spec.release.image is. */
  readonly release: Release;
  readonly configs: MachineConfigs;
  /** Those of the control plane's namespace that are annotated with the pool. */
  readonly secrets: readonly Secret[];
  /** Made for the pool by other controllers and labelled with it. */
  readonly ownedConfigMaps: readonly ConfigMap[];
  /** Annotated with the pool. */
  readonly machines: readonly Machine[];
  readonly checkIgnition?: (config: unknown) => string | undefined;
  /** A fresh UUID each time. */
  newToken(): string;
}
