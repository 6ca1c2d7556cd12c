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

export interface PoolStatus {
  readonly name: string;
  readonly cluster: string;
  readonly replicas: number | undefined;
  readonly version: string;
  readonly hash: string;
  /** Whether machines can be given user data now. */
  readonly ready: boolean;
  readonly userDataSecret: string;
  readonly conditions: readonly Condition[];
  readonly tokens: readonly TokenStatus[];
}

interface TokenStatus {
  readonly secret: string;
  readonly current: boolean;
  readonly generated: string;
  /** Empty: not while the pool wants it. */
  readonly expires: string;
  readonly reached: boolean;
  /** The outcome of making the payload. */
  readonly payload: string;
}

export async function poolStatuses(api: KubeApi, namespace: string): Promise<PoolStatus[]> {
  const [{ items: pools }, { items: secrets }] = await Promise.all([
    api.list<NodePool>(collectionPath("NodePool", namespace)),
    api.list<Secret>(collectionPath("Secret", namespace)),
  ]);
  return pools.map((pool) => poolStatus(pool, secrets)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function poolStatus(pool: NodePool, secrets: readonly Secret[]): PoolStatus {
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
    ready: hash !== "" && own.some(({ metadata }) => metadata?.name === userDataSecret),
    userDataSecret: hash === "" ? "" : userDataSecret,
    conditions: pool.status?.conditions ?? [],
    tokens: own.filter(isTokenSecret).map((secret) => tokenStatus(secret, tokenSecretName(name, hash))),
  };
}

function tokenStatus(secret: Secret, current: string): TokenStatus {
  const { expiresAt, generatedAt, outcome, reached } = readTokenSecret(secret);
  const time = (at: number | undefined) => (at === undefined ? "" : Number.isNaN(at) ? "unreadable" : secondTime(at));
  const name = secret.metadata?.name ?? "";
  return {
    secret: name,
    current: name === current,
    generated: time(generatedAt),
    expires: time(expiresAt),
    reached,
    payload: outcome?.reason ?? "",
  };
}

/** Conditions that are False when all is well. */
const NORMALLY_FALSE: readonly string[] = ["AutoscalingEnabled", "UpdatingConfig", "UpdatingVersion"];

export const NOT_LOOKED_AT = "no controller has looked at it yet";

/** The conditions that are not as they should be. */
export function troublesOf({ conditions }: Pick<PoolStatus, "conditions">): readonly Condition[] {
  return conditions.filter(({ status, type }) => status === "False" && !NORMALLY_FALSE.includes(type));
}
