/** Pools, as people read them. */

import { table } from "../../base/text.js";
import type { PoolStanding } from "../../cluster/nodes/controller/status.js";
import type { Condition } from "../../cluster/nodes/pool/node-pool.js";

/** These are False when all is well. */
const quiet = ["AutoscalingEnabled", "UpdatingConfig", "UpdatingVersion"];

export function poolsText(pools: readonly PoolStanding[]): string {
  if (pools.length === 0) return "There is no pool.\n";
  return table([
    ["POOL", "CLUSTER", "VERSION", "HASH", "USER DATA", "TROUBLE"],
    ...pools.map((pool) => [
      pool.name,
      pool.cluster || "-",
      pool.version || "-",
      pool.hash || "-",
      pool.ready ? "ready" : "missing",
      troubleOf(pool) || "-",
    ]),
  ]);
}

export function poolText(pool: PoolStanding): string {
  const conditions = pool.conditions.map(({ message, reason, status, type }) => [
    `  ${type}`,
    status,
    reason || "-",
    message.replaceAll("\n", "; "),
  ]);
  const tokens = pool.tokens.map(({ current, expires, generated, payload, reached, secret }) => [
    `  ${secret}`,
    current ? "current" : "former",
    `made ${generated || "never"}`,
    expires === "" ? "stays" : `ends ${expires}`,
    payload === "" ? "no payload yet" : `payload ${payload}`,
    reached ? "was fetched" : "not fetched yet",
  ]);
  return [
    `Pool ${pool.name} of cluster ${pool.cluster}, version ${pool.version || "unknown"}, hash ${pool.hash || "unknown"}\n`,
    pool.ready ? `User data is in the Secret ${pool.userDataSecret}.\n` : "There is no user data yet.\n",
    conditions.length === 0 ? "No controller has looked at it yet.\n" : `Conditions:\n${table(conditions)}`,
    tokens.length === 0 ? "" : `Tokens:\n${table(tokens)}`,
  ].join("");
}

export const NOT_LOOKED_AT = "no controller has looked at it yet";

/** The conditions that are not as they should be. */
export function troublesOf({ conditions }: Pick<PoolStanding, "conditions">): readonly Condition[] {
  return conditions.filter(({ status, type }) => status === "False" && !quiet.includes(type));
}

function troubleOf(pool: PoolStanding): string {
  if (pool.conditions.length === 0) return NOT_LOOKED_AT;
  return troublesOf(pool)
    .map(({ message, reason, type }) => `${type}: ${message || reason}`)
    .join("; ");
}
