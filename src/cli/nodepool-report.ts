/** Pools, as people read them. */
import type { PoolStanding } from "../nodepool/controller/status.js";

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

function troubleOf({ conditions }: PoolStanding): string {
  if (conditions.length === 0) return "no controller has looked at it yet";
  return conditions
    .filter(({ status, type }) => status === "False" && !quiet.includes(type))
    .map(({ message, reason, type }) => `${type}: ${message || reason}`)
    .join("; ");
}

export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column]!))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}
