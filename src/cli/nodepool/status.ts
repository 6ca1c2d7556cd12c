/** `drawbridge nodepool status`: the state of pools. */

import { DrawbridgeError } from "../../base/errors/error.js";
import { table } from "../../base/text.js";
import { NOT_LOOKED_AT, type PoolStatus, poolStatuses, troublesOf } from "../../cluster/nodes/controller/status.js";
import { refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { accessFlags, withObjects } from "../framework/objects.js";

export default defineCommand({
  purpose: `Lists pools with their version, their hash and what is wrong; with a name, all conditions and tokens of that pool (never a
token itself). Ends with 1 when the named pool cannot give user data to a machine now.`,
  words: "[NAME]",
  examples: ["drawbridge nodepool status demo --namespace clusters"],
  flags: accessFlags,
  async run(flags, { words: [name, second] }) {
    if (second !== undefined) throw refused(`"${second}" is one name too many: give one pool, or none for all`);
    const { namespace } = flags;
    const pools = await withObjects(flags, (api) => poolStatuses(api, namespace));
    return { pools, pool: name === undefined ? undefined : named(pools, `${namespace}/${name}`) };
  },
  show: {
    text: ({ pool, pools }) => (pool === undefined ? poolsText(pools) : poolText(pool)),
    json: ({ pool, pools }) => pool ?? { pools },
  },
  exitCode: ({ pool }) => (pool === undefined || pool.ready ? 0 : 1),
});

function named(all: readonly PoolStatus[], wanted: string): PoolStatus {
  const found = all.find(({ name }) => name === wanted);
  if (found !== undefined) return found;
  const known = all.map(({ name }) => name).join(", ") || "none";
  throw new DrawbridgeError("DB_NODEPOOL", `there is no pool ${wanted}; there is: ${known}`);
}

function poolsText(pools: readonly PoolStatus[]): string {
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

function poolText(pool: PoolStatus): string {
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

function troubleOf(pool: PoolStatus): string {
  if (pool.conditions.length === 0) return NOT_LOOKED_AT;
  return troublesOf(pool)
    .map(({ message, reason, type }) => `${type}: ${message || reason}`)
    .join("; ");
}
