/** Everything a pass over a pool looks at, gathered before it begins: the pass itself asks nobody. */

import { DrawbridgeError } from "../../../base/errors/error.js";
import type { KubeObject } from "../../kube/port.js";
import {
  type ClusterConfiguration,
  type ClusterNetworks,
  effectiveStream,
  globalConfig,
  hashedStream,
  type PoolHashes,
  poolHashes,
} from "../hash/pool-hash.js";
import { type ConfigSource, rawConfig, usesRunc } from "../hash/raw-config.js";
import { type ConfigMap, label, nameOf, type ObjectName, pathOf, type Secret } from "../objects.js";
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

// Sorts ConfigMaps into what configures a pool's machines.

export interface ConfigMapsSeen {
  /** Of the control plane's namespace. */
  readonly controlPlane: readonly ConfigMap[];
  /** Of the pool's own namespace. */
  readonly beside: readonly ConfigMap[];
}

/** Everything but what is generated. */
export function machineConfigsOf(
  pool: NodePool,
  seen: ConfigMapsSeen,
): Pick<MachineConfigs, "core" | "named" | "tuning"> {
  const { name, namespace } = nameOf(pool);
  const labelled = (map: ConfigMap, key: string) => map.metadata?.labels?.[key];
  return {
    core: seen.controlPlane.filter((map) => labelled(map, label.coreConfig) === "true").map(sourceOf),
    named: (pool.spec?.config ?? []).map((reference) => {
      const where = { namespace, name: reference.name ?? "" };
      const found = seen.beside.find((map) => pathOf(nameOf(map)) === pathOf(where));
      return { where: `ConfigMap ${pathOf(where)}`, text: found?.data?.config };
    }),
    tuning: seen.controlPlane
      .filter((map) => labelled(map, label.tuningConfig) === "true" && labelled(map, label.nodePool) === name)
      .map(sourceOf),
  };
}

/** How many core configurations HyperShift's control plane makes: ssh, fips, mirrors if any, its API proxy unless the operator does. */
export function expectedCoreConfigs(cluster: {
  readonly hasImageContentSources: boolean;
  readonly proxyMadeByOperator: boolean;
}): number {
  return 3 + Number(cluster.hasImageContentSources) - Number(cluster.proxyMadeByOperator);
}

/** An empty text is no document, which the expected number will show. */
function sourceOf(map: ConfigMap): { where: string; text: string } {
  return { where: `ConfigMap ${pathOf(nameOf(map))}`, text: map.data?.config ?? "" };
}

// What a pool's machines should be: its configuration and the hashes of it.

export interface Target {
  readonly rawConfig: string;
  readonly releaseVersion: string;
  readonly hashes: PoolHashes;
  /** What machines boot. */
  readonly stream: string;
}

/** Throws when a document cannot be used or one is missing. */
export function targetOf(world: World, cluster: Cluster, releaseVersion: string): Target {
  const { checkIgnition, configs, pool } = world;
  const raw = rawConfig(sourcesOf(configs), checkIgnition === undefined ? {} : { checkIgnition });
  const stream = effectiveStream(pool.spec?.osImageStream?.name ?? "", releaseVersion, usesRunc(raw));
  const hashes = poolHashes({
    rawConfig: raw,
    releaseVersion,
    pullSecretName: cluster.pullSecret.name,
    trustBundleName: cluster.trustBundle?.name ?? "",
    globalConfig: globalConfig(cluster.configuration, cluster.networks, releaseVersion),
    stream: hashedStream(stream, releaseVersion),
  });
  return { rawConfig: raw, releaseVersion, hashes, stream };
}

function sourcesOf({ core, expectedCore, generated, named, tuning }: MachineConfigs): ConfigSource[] {
  if (expectedCore !== undefined && core.length !== expectedCore) {
    throw unusable(`expected ${expectedCore} core ignition configs, found ${core.length}`);
  }
  const present = named.map(({ where, text }) => {
    if (text === undefined) throw unusable(`${where}, which spec.config names, is missing or has no key config`);
    return { where, text };
  });
  return [...generated, ...core, ...present, ...tuning];
}

function unusable(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_NODEPOOL_CONFIG", sentence);
}
