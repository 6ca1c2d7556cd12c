/** Sorts ConfigMaps into what configures a pool's machines. */
import { label } from "../names.js";
import { type ConfigMap, nameOf, pathOf } from "../objects.js";
import type { NodePool } from "./node-pool.js";
import type { MachineConfigs } from "./world.js";

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
