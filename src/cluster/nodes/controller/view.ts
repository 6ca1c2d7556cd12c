/** A copy of one namespace, and the input of a pass over one of its pools. */
import { randomUUID } from "node:crypto";
import { isRecord } from "../../../base/at.js";
import { messageOf } from "../../../base/errors/error.js";
import { typed } from "../../kube/paths.js";
import { type ClusterConfiguration, type ClusterNetworks, parseVersion } from "../hash/pool-hash.js";
import {
  annotation,
  type ConfigMap,
  IGNITION_CA_SECRET,
  label,
  nameOf,
  pathOf,
  type Secret,
  secretText,
} from "../objects.js";
import { machineConfigsOf, type PassInput, type PoolCluster, type PoolRelease } from "../pool/input.js";
import type { NodePool } from "../pool/node-pool.js";
import { readYaml } from "../yaml.js";

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
  const object = clusterOf(view, pool);
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

function clusterOf(view: View, pool: NodePool) {
  const { namespace } = nameOf(pool);
  const map = view.configMaps.get(pathOf({ namespace, name: pool.spec?.clusterName ?? "" }));
  if (map === undefined || !isClusterObject(map)) return undefined;
  return readClusterObject(map, {
    secret: (name) => view.secrets.get(pathOf({ namespace, name })),
    configMap: (name) => view.configMaps.get(pathOf({ namespace, name })),
  });
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

/** Other objects of its namespace. */
interface NamespaceObjects {
  secret(name: string): Secret | undefined;
  configMap(name: string): ConfigMap | undefined;
}

export function isClusterObject({ metadata }: ConfigMap): boolean {
  return metadata?.labels?.[CLUSTER_LABEL] === "true";
}

/** The cluster, and what each release image is. What cannot be read is reported as the release's problem: that is the first condition that can say it. */
function readClusterObject(map: ConfigMap, objects: NamespaceObjects) {
  const text = (key: keyof typeof keys) => map.data?.[key]?.trim() ?? "";
  const problems = Object.keys(map.data ?? {})
    .filter((key) => !Object.hasOwn(keys, key))
    .map((key) => `has an unknown key ${key}; known are ${Object.keys(keys).join(", ")}`);
  const yaml = <T extends object>(key: keyof typeof keys): T | undefined => {
    if (text(key) === "") return undefined;
    try {
      return mapping<T>(text(key));
    } catch (reason) {
      problems.push(`has a key ${key} that cannot be used: ${messageOf(reason)}`);
      return undefined;
    }
  };
  const releases = yaml<Record<string, unknown>>("releases") ?? {};
  const name = nameOf(map);
  const cluster: PoolCluster = {
    name,
    owner: { apiVersion: "v1", kind: "ConfigMap", uid: map.metadata?.uid ?? "" },
    deleting: map.metadata?.deletionTimestamp !== undefined,
    controlPlaneNamespace: name.namespace,
    kubeconfigReady: text("apiServer") !== "",
    ignitionEndpoint: text("ignitionEndpoint"),
    ignitionCaPem: ignitionCaOf(map, objects),
    pullSecret: pullSecretOf(text("pullSecret"), objects),
    trustBundle: trustBundleOf(text("trustBundle"), objects),
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

/** Its own, or the one that signs the certificate we issue. */
function ignitionCaOf({ data }: ConfigMap, { secret }: NamespaceObjects): string {
  return data?.ignitionCA?.trim() ? data.ignitionCA : (secretText(secret(IGNITION_CA_SECRET) ?? {}, "tls.crt") ?? "");
}

/** A cluster whose images need no credentials names none. */
function pullSecretOf(name: string, objects: NamespaceObjects): PoolCluster["pullSecret"] {
  if (name === "") return { name, content: new Uint8Array() };
  const content = objects.secret(name)?.data?.[".dockerconfigjson"];
  return { name, content: content === undefined ? undefined : Buffer.from(content, "base64") };
}

function trustBundleOf(name: string, objects: NamespaceObjects): PoolCluster["trustBundle"] {
  if (name === "") return undefined;
  return { name, content: objects.configMap(name)?.data?.["ca-bundle.crt"] };
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

function mapping<T extends object>(text: string): T {
  const value = readYaml(text);
  if (!isRecord(value)) throw new Error("it is not a YAML map");
  return value as T;
}
