/** How many, and how fast. */
import type { Case } from "../case.js";
import { RATE_WINDOW_MS } from "../policy.js";
import { requestName } from "../signing-request.js";
import type { Rule } from "./rule.js";

export const poolSize: Rule = {
  id: "pool-size",
  demands: "the pool has room: its replicas and the surge",
  yields: true,
  check: (of) => {
    if (of.pool === undefined) return undefined;
    const most = (of.pool.replicas ?? of.pool.workers) + of.policy.surge;
    const taken = occupants(of);
    taken.delete(of.nodeName);
    if (taken.size < most) return undefined;
    return `${of.poolName} may have ${most} nodes and has ${taken.size}, counting those that are on their way`;
  },
};

export const poolRate: Rule = {
  id: "pool-rate",
  demands: "the pool got no more approvals in the last minute than it may",
  yields: true,
  check: ({ memory, now, policy, poolName = "", request }) => {
    const approvals = [...memory.values()]
      .filter(({ pool }) => pool === poolName)
      .flatMap(({ client, serving, renewal }) => [client, serving, renewal])
      .filter((approval) => approval !== undefined && approval.request !== requestName(request));
    const recent = approvals.filter((approval) => now - approval!.at < RATE_WINDOW_MS).length;
    if (recent < policy.poolRate) return undefined;
    return `${poolName || "no pool"} got ${recent} approvals in the last minute and may have ${policy.poolRate}`;
  },
};

/** Nodes of the pool, and machines that were let in and did not show up yet. */
function occupants({ inventory, memory, nodes, now, poolName }: Case): Set<string> {
  const taken = new Set<string>();
  for (const [name, { client, pool }] of memory) {
    if (pool !== poolName) continue;
    const deadline = inventory.workers.get(name)?.deadline ?? Number.NEGATIVE_INFINITY;
    const isOnItsWay = client !== undefined && now < deadline;
    if (nodes.has(name) || isOnItsWay) taken.add(name);
  }
  for (const { joined, name, pool } of inventory.workers.values()) {
    if (pool === poolName && (nodes.has(name) || joined)) taken.add(name);
  }
  return taken;
}
