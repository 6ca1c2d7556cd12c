/** The user data of a pool as it is now, whoever looks after the pool: our controller or HyperShift. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { find } from "../../kube/find.js";
import type { KubeApi } from "../../kube/port.js";
import { namedPath } from "../controller/paths.js";
import { annotation, controlPlaneNamespace, userDataSecretName } from "../names.js";
import { type ObjectName, pathOf, type Secret } from "../objects.js";
import type { NodePool } from "../pool/node-pool.js";
import { readUserData } from "../token/user-data.js";

export interface PoolUserData {
  readonly hash: string;
  /** The pointer config, as it is given to machines. */
  readonly text: string;
  /** Whether our own controller looks after the pool, so that our own Ignition server hands its configuration out. */
  readonly isOurs: boolean;
}

export async function poolUserData(api: KubeApi, pool: ObjectName): Promise<PoolUserData> {
  const { hash, object } = await poolHash(api, pool);
  if (hash === "") {
    throw new UserDataMissing(
      "DB_WORKERS",
      `pool ${pathOf(pool)} has no configuration yet; drawbridge nodepool status ${pool.name} says why`,
    );
  }
  const name = userDataSecretName(pool.name, hash);
  // HyperShift keeps it beside the control plane, our controller beside the pool.
  const cluster = { namespace: pool.namespace, name: object.spec?.clusterName ?? "" };
  for (const namespace of [pool.namespace, controlPlaneNamespace(cluster)]) {
    const secret = await find<Secret>(api, namedPath("Secret", { namespace, name }));
    if (secret !== undefined) return { hash, text: readUserData(secret), isOurs: namespace === pool.namespace };
  }
  throw new UserDataMissing("DB_WORKERS", `pool ${pathOf(pool)} has no user data yet: the Secret ${name} is missing`);
}

/** Empty while the pool has none. */
export async function poolHash(api: KubeApi, pool: ObjectName): Promise<{ hash: string; object: NodePool }> {
  const object = await find<NodePool>(api, namedPath("NodePool", pool));
  if (object === undefined) throw new PoolMissing("DB_WORKERS", `there is no pool ${pathOf(pool)}`);
  return { hash: object.metadata?.annotations?.[annotation.currentConfigVersion] ?? "", object };
}

class PoolMissing extends DrawbridgeError {}

class UserDataMissing extends DrawbridgeError {}

/** Whose controller will make it, if it can. */
export function isUserDataMissing(reason: unknown): boolean {
  return reason instanceof UserDataMissing;
}

export function isPoolMissing(reason: unknown): boolean {
  return reason instanceof PoolMissing;
}
