/** The status of pools, for people and scripts. It contains no token. */

import { collectionPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import {
  annotation,
  nameOf,
  pathOf,
  type Secret,
  secondTime,
  tokenSecretName,
  userDataSecretName,
} from "../objects.js";
import type { Condition, NodePool } from "../pool/node-pool.js";
import { isTokenSecret, readTokenSecret } from "../token/token-secret.js";

export type PoolStatus = ReturnType<typeof poolStatus>;

export async function poolStatuses(api: KubeApi, namespace: string): Promise<PoolStatus[]> {
  const [{ items: pools }, { items: secrets }] = await Promise.all([
    api.list<NodePool>(collectionPath("NodePool", namespace)),
    api.list<Secret>(collectionPath("Secret", namespace)),
  ]);
  return pools.map((pool) => poolStatus(pool, secrets)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function poolStatus(pool: NodePool, secrets: readonly Secret[]) {
  const { name } = nameOf(pool);
  const key = pathOf(nameOf(pool));
  const hash = pool.metadata?.annotations?.[annotation.currentConfigVersion] ?? "";
  const own = secrets.filter(({ metadata }) => metadata?.annotations?.[annotation.nodePool] === key);
  const userDataSecret = userDataSecretName(name, hash);
  return {
    name: key,
    cluster: pool.spec?.clusterName ?? "",
    replicas: pool.spec?.replicas,
    version: pool.status?.version ?? "",
    hash,
    /** Whether machines can be given user data now. */
    ready: hash !== "" && own.some(({ metadata }) => metadata?.name === userDataSecret),
    userDataSecret: hash === "" ? "" : userDataSecret,
    conditions: pool.status?.conditions ?? [],
    tokens: own.filter(isTokenSecret).map((secret) => tokenStatus(secret, tokenSecretName(name, hash))),
  };
}

function tokenStatus(secret: Secret, current: string) {
  const { expiresAt, generatedAt, outcome, reached } = readTokenSecret(secret);
  const time = (at: number | undefined) => (at === undefined ? "" : Number.isNaN(at) ? "unreadable" : secondTime(at));
  const name = secret.metadata?.name ?? "";
  return {
    secret: name,
    current: name === current,
    generated: time(generatedAt),
    /** Empty: not while the pool wants it. */
    expires: time(expiresAt),
    reached,
    /** The outcome of making the payload. */
    payload: outcome?.reason ?? "",
  };
}

/** Conditions that are False when all is well. */
const NORMALLY_FALSE: readonly string[] = [
  "AutoscalingEnabled",
  "AutorepairEnabled",
  "UpdatingConfig",
  "UpdatingVersion",
];

export const NOT_LOOKED_AT = "no controller has looked at it yet";

/** The conditions that are not as they should be. */
export function troublesOf({ conditions }: Pick<PoolStatus, "conditions">): readonly Condition[] {
  return conditions.filter(({ status, type }) => status === "False" && !NORMALLY_FALSE.includes(type));
}
