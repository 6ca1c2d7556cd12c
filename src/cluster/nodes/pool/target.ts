/** What a pool's machines should be: its configuration and the hashes of it. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { globalConfig } from "../hash/global-config.js";
import { effectiveStream, hashedStream, type PoolHashes, poolHashes } from "../hash/pool-hash.js";
import { type ConfigSource, rawConfig, usesRunc } from "../hash/raw-config.js";
import type { Cluster, MachineConfigs, World } from "./world.js";

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
