/** The copy of one namespace from which passes over pools are made, and whom a change in it concerns. */
import { randomUUID } from "node:crypto";
import { findingText } from "../../ignition/finding.js";
import { readConfig } from "../../ignition/parse.js";
import { annotation, IGNITION_CA_SECRET, label } from "../names.js";
import { type ConfigMap, nameOf, pathOf, type Secret } from "../objects.js";
import { machineConfigsOf } from "../pool/machine-configs.js";
import type { NodePool } from "../pool/node-pool.js";
import type { World } from "../pool/world.js";
import { isClusterObject, readClusterObject } from "./cluster-object.js";
import { typed } from "./paths.js";

export interface View {
  /** By `namespace/name`. */
  readonly pools: ReadonlyMap<string, NodePool>;
  readonly configMaps: ReadonlyMap<string, ConfigMap>;
  readonly secrets: ReadonlyMap<string, Secret>;
}

/** Everything a pass looks at; undefined when there is no such pool. */
export function worldOf(view: View, key: string, newToken: () => string = randomUUID): World | undefined {
  const found = view.pools.get(key);
  if (found === undefined) return undefined;
  const pool = typed("NodePool", found);
  const object = clusterOf(view, pool);
  const configMaps = [...view.configMaps.values()].map((map) => typed("ConfigMap", map));
  return {
    pool,
    cluster: object?.cluster,
    release: object?.release(pool.spec?.release?.image ?? "") ?? { problem: "the cluster does not exist" },
    configs: {
      generated: [],
      expectedCore: undefined,
      ...machineConfigsOf(pool, { controlPlane: configMaps, beside: configMaps }),
    },
    secrets: secretsOf(view, key),
    ownedConfigMaps: configMaps.filter(
      ({ metadata }) =>
        metadata?.labels?.[label.nodePool] === pool.metadata?.name && metadata?.labels?.[label.tuningConfig] === "true",
    ),
    machines: [],
    checkIgnition,
    newToken,
  };
}

/** Those annotated with the pool, which need not exist any more. */
export function secretsOf({ secrets }: View, key: string): Secret[] {
  return [...secrets.values()]
    .filter((secret) => poolOfSecret(secret) === key)
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

function checkIgnition(config: unknown): string | undefined {
  const wrong = readConfig(JSON.stringify(config)).findings.find(({ severity }) => severity === "error");
  return wrong && findingText(wrong);
}

/** A Secret of a pool concerns that pool; any other may be a pull secret, or whom machines trust. */
export function concernedBySecret(view: View, secret: Secret): string[] {
  const own = poolOfSecret(secret);
  if (own !== undefined) return [own];
  if (secret.metadata?.name === IGNITION_CA_SECRET) return [...view.pools.keys()];
  return poolsWhere(view, (_pool, cluster) => cluster?.data?.pullSecret?.trim() === secret.metadata?.name);
}

/** A cluster, a trust bundle, a document of spec.config, or one that configures every machine. */
export function concernedByConfigMap(view: View, map: ConfigMap): string[] {
  const { name } = nameOf(map);
  const { labels = {} } = map.metadata ?? {};
  const common = labels[label.coreConfig] !== undefined || labels[label.tuningConfig] !== undefined;
  return poolsWhere(
    view,
    ({ spec }, cluster) =>
      common ||
      spec?.clusterName === name ||
      spec?.config?.some((reference) => reference.name === name) === true ||
      cluster?.data?.trustBundle?.trim() === name,
  );
}

function poolsWhere(view: View, isConcerned: (pool: NodePool, cluster: ConfigMap | undefined) => boolean): string[] {
  return [...view.pools].flatMap(([key, pool]) => {
    const name = pool.spec?.clusterName ?? "";
    const cluster = view.configMaps.get(pathOf({ namespace: nameOf(pool).namespace, name }));
    return isConcerned(pool, cluster) ? [key] : [];
  });
}

function poolOfSecret({ metadata }: Secret): string | undefined {
  return metadata?.annotations?.[annotation.nodePool];
}
