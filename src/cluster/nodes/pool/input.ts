/** The input of a pass over a pool, gathered before it begins: the pass itself reads nothing. */

import { DrawbridgeError } from "../../../base/errors/error.js";
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
import type { NodePool } from "./node-pool.js";

/** The cluster that a pool belongs to, as our ConfigMap describes it. */
export interface PoolCluster {
  readonly name: ObjectName;
  readonly owner: { readonly apiVersion: string; readonly kind: string; readonly uid: string };
  readonly deleting: boolean;
  readonly controlPlaneNamespace: string;
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
}

/** An object that the cluster names; its content is undefined while the object, or its key, is missing. */
interface Dependency<T> {
  readonly name: string;
  readonly content: T | undefined;
}

export type PoolRelease =
  | { readonly version: string /** `multi`, or the one architecture it is for. */; readonly arch: string }
  | { readonly problem: string };

/** A document that configures the pool's machines; its text is undefined while the ConfigMap, or its key, is missing. */
interface MachineConfigSource {
  readonly where: string;
  readonly text: string | undefined;
}

export interface PassInput {
  readonly pool: NodePool;
  readonly cluster: PoolCluster | undefined;
  /** The release of spec.release.image. */
  readonly release: PoolRelease;
  readonly configs: readonly MachineConfigSource[];
  /** Secrets in the control plane's namespace that are annotated with the pool. */
  readonly secrets: readonly Secret[];
  /** Made for the pool by other controllers and labelled with it. */
  readonly ownedConfigMaps: readonly ConfigMap[];
  /** A fresh UUID each time. */
  newToken(): string;
}

/** The documents for all pools, those that spec.config names, and those that tuning made for the pool. */
export function machineConfigsOf(pool: NodePool, maps: readonly ConfigMap[]): MachineConfigSource[] {
  const { name, namespace } = nameOf(pool);
  const labelled = (key: string, also: (labels: Readonly<Record<string, string>>) => boolean = () => true) =>
    maps
      .filter(({ metadata: { labels = {} } = {} }) => labels[key] === "true" && also(labels))
      .map((map) => ({ where: `ConfigMap ${pathOf(nameOf(map))}`, text: map.data?.config ?? "" }));
  const named = (pool.spec?.config ?? []).map((reference) => {
    const where = pathOf({ namespace, name: reference.name ?? "" });
    return { where: `ConfigMap ${where}`, text: maps.find((map) => pathOf(nameOf(map)) === where)?.data?.config };
  });
  const tuning = labelled(label.tuningConfig, (labels) => labels[label.nodePool] === name);
  return [...labelled(label.coreConfig), ...named, ...tuning];
}

/** The wanted configuration of a pool's machines, and its hashes. */
export interface PoolTarget {
  readonly rawConfig: string;
  readonly releaseVersion: string;
  readonly hashes: PoolHashes;
  /** The operating system that machines boot. */
  readonly stream: string;
}

/** Throws when a document cannot be used or one is missing. */
export function poolTargetOf(input: PassInput, cluster: PoolCluster, releaseVersion: string): PoolTarget {
  const { configs, pool } = input;
  const raw = rawConfig(configs.map(present));
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

function present({ text, where }: MachineConfigSource): ConfigSource {
  if (text !== undefined) return { where, text };
  const problem = `${where}, which spec.config names, is missing or has no key config`;
  throw new DrawbridgeError("DB_NODEPOOL_CONFIG", problem);
}
