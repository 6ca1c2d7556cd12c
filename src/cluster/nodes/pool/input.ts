/** The input of a pass over a pool, gathered before it begins: the pass itself reads nothing. */

import { randomUUID } from "node:crypto";
import { isRecord } from "../../../base/at.js";
import { messageOf } from "../../../base/errors/error.js";
import { typed } from "../../kube/paths.js";
import {
  type ClusterConfiguration,
  type ClusterNetworks,
  type ConfigSource,
  effectiveStream,
  globalConfig,
  hashedStream,
  parseVersion,
  poolHashes,
  rawConfig,
  usesRunc,
} from "../hash/pool-hash.js";
import {
  annotation,
  type ConfigMap,
  IGNITION_CA_SECRET,
  label,
  nameOf,
  type ObjectName,
  pathOf,
  type Secret,
  secretText,
} from "../objects.js";
import { readYaml } from "../yaml.js";
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

export interface PassInput {
  readonly pool: NodePool;
  readonly cluster: PoolCluster | undefined;
  /** The release of spec.release.image. */
  readonly release: PoolRelease;
  readonly configs: readonly ConfigSource[];
  /** Secrets in the control plane's namespace that are annotated with the pool. */
  readonly secrets: readonly Secret[];
  /** Made for the pool by other controllers and labelled with it. */
  readonly ownedConfigMaps: readonly ConfigMap[];
  /** A fresh UUID each time. */
  newToken(): string;
}

/** The documents for all pools, those that spec.config names, and those that tuning made for the pool. */
export function machineConfigsOf(pool: NodePool, maps: readonly ConfigMap[]): ConfigSource[] {
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

export type PoolTarget = ReturnType<typeof poolTargetOf>;

/** The wanted configuration of a pool's machines, and its hashes. Throws when a document cannot be used or one is missing. */
export function poolTargetOf(input: PassInput, cluster: PoolCluster, releaseVersion: string) {
  const { configs, pool } = input;
  const raw = rawConfig(configs);
  const isRunc = usesRunc(raw);
  const stream = effectiveStream(pool.spec?.osImageStream?.name ?? "", releaseVersion, isRunc);
  const hashes = poolHashes({
    rawConfig: raw,
    releaseVersion,
    pullSecretName: cluster.pullSecret.name,
    trustBundleName: cluster.trustBundle?.name ?? "",
    globalConfig: globalConfig(cluster.configuration, cluster.networks, releaseVersion),
    stream: hashedStream(stream, releaseVersion, isRunc),
  });
  return { rawConfig: raw, releaseVersion, hashes, stream };
}

/** A copy of one namespace. */
export interface View {
  /** Pools by `namespace/name`, as the others. */
  readonly pools: ReadonlyMap<string, NodePool>;
  readonly configMaps: ReadonlyMap<string, ConfigMap>;
  readonly secrets: ReadonlyMap<string, Secret>;
}

/** Everything a pass looks at; undefined when there is no such pool. */
export function passInputOf(view: View, key: string, newToken: () => string = randomUUID): PassInput | undefined {
  const found = view.pools.get(key);
  if (found === undefined) return undefined;
  const pool = typed("NodePool", found);
  const map = view.configMaps.get(pathOf({ ...nameOf(pool), name: pool.spec?.clusterName ?? "" }));
  const object = map && isClusterObject(map) ? readClusterObject(map, view) : undefined;
  const configMaps = [...view.configMaps.values()].map((map) => typed("ConfigMap", map));
  return {
    pool,
    cluster: object?.cluster,
    release: object?.release(pool.spec?.release?.image ?? "") ?? { problem: "the cluster does not exist" },
    configs: machineConfigsOf(pool, configMaps),
    secrets: secretsOf(view, key),
    ownedConfigMaps: configMaps.filter(
      ({ metadata }) =>
        metadata?.labels?.[label.nodePool] === pool.metadata?.name && metadata?.labels?.[label.tuningConfig] === "true",
    ),
    newToken,
  };
}

/** Secrets that are annotated with the pool, which need not exist any more. */
export function secretsOf({ secrets }: View, key: string): Secret[] {
  return [...secrets.values()]
    .filter(({ metadata }) => metadata?.annotations?.[annotation.nodePool] === key)
    .map((secret) => typed("Secret", secret))
    .sort((a, b) => (nameOf(a).name < nameOf(b).name ? -1 : 1));
}

/**
 * On the ConfigMap that describes the cluster of pools where no HyperShift runs: a person can write it by hand, and nothing
 * has to be installed for it.
 */
export const CLUSTER_LABEL = "drawbridge/cluster";

const keys = {
  apiServer: "URL of the API server that nodes join",
  apiServerCA: "its certificate authority, PEM",
  ignitionEndpoint: "host or host:port of the Ignition server, as machines reach it",
  ignitionAddresses: "further names and addresses by which machines reach it, for its certificate",
  ignitionCA: "its certificate authority, PEM; ours, if left out",
  version: "version of the release that machines run",
  releases: "YAML map from release image to version, for pools on another than `version`",
  arch: "architecture of the release; multi unless given",
  pullSecret: "name of a Secret with the key .dockerconfigjson",
  trustBundle: "name of a ConfigMap with the key ca-bundle.crt",
  configuration: "YAML, as spec.configuration of a HostedCluster: proxy, image, apiServer",
  networks: "YAML with the lists machine, cluster and service, which are never proxied",
} as const;

export function isClusterObject({ metadata }: ConfigMap): boolean {
  return metadata?.labels?.[CLUSTER_LABEL] === "true";
}

/** The cluster, and what each release image is. What cannot be read is reported as the release's problem: that is the first condition that can say it. */
function readClusterObject(map: ConfigMap, view: View) {
  const text = (key: keyof typeof keys) => map.data?.[key]?.trim() ?? "";
  const problems = Object.keys(map.data ?? {})
    .filter((key) => !Object.hasOwn(keys, key))
    .map((key) => `has an unknown key ${key}; known are ${Object.keys(keys).join(", ")}`);
  const yaml = <T extends object>(key: keyof typeof keys): T | undefined => {
    if (text(key) === "") return undefined;
    try {
      const value = readYaml(text(key));
      if (!isRecord(value)) throw new Error("it is not a YAML map");
      return value as T;
    } catch (reason) {
      problems.push(`has a key ${key} that cannot be used: ${messageOf(reason)}`);
      return undefined;
    }
  };
  const releases = yaml<Record<string, unknown>>("releases") ?? {};
  const name = nameOf(map);
  const secret = (other: string) => view.secrets.get(pathOf({ ...name, name: other }));
  const bundle = text("trustBundle");
  const cluster: PoolCluster = {
    name,
    owner: { apiVersion: "v1", kind: "ConfigMap", uid: map.metadata?.uid ?? "" },
    deleting: map.metadata?.deletionTimestamp !== undefined,
    controlPlaneNamespace: name.namespace,
    kubeconfigReady: text("apiServer") !== "",
    ignitionEndpoint: text("ignitionEndpoint"),
    // Its own, or the one that signs the certificate we issue.
    ignitionCaPem: text("ignitionCA")
      ? (map.data?.ignitionCA ?? "")
      : (secretText(secret(IGNITION_CA_SECRET) ?? {}, "tls.crt") ?? ""),
    pullSecret: { name: text("pullSecret"), content: pullSecretOf(text("pullSecret"), secret) },
    trustBundle:
      bundle === ""
        ? undefined
        : { name: bundle, content: view.configMaps.get(pathOf({ ...name, name: bundle }))?.data?.["ca-bundle.crt"] },
    configuration: yaml<ClusterConfiguration>("configuration"),
    networks: yaml<ClusterNetworks>("networks"),
  };
  const release = (image: string): PoolRelease => {
    const version = Object.hasOwn(releases, image) ? String(releases[image]) : text("version");
    const problem = problems[0] ?? versionProblem(version);
    if (problem !== undefined) return { problem: `ConfigMap ${name.namespace}/${name.name} ${problem}` };
    return { version, arch: text("arch") || "multi" };
  };
  return { cluster, release };
}

/** A cluster whose images need no credentials names none. */
function pullSecretOf(name: string, secret: (name: string) => Secret | undefined): Uint8Array | undefined {
  const content = name === "" ? "" : secret(name)?.data?.[".dockerconfigjson"];
  return content === undefined ? undefined : Buffer.from(content, "base64");
}

function versionProblem(version: string): string | undefined {
  if (version === "") return "has no version";
  try {
    parseVersion(version);
    return undefined;
  } catch (reason) {
    return `cannot be used: ${messageOf(reason)}`;
  }
}
