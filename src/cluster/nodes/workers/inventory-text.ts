/** Workers as the inventory that decides whose certificate requests are approved. */
import { stringify } from "yaml";
import type { Worker } from "./worker.js";

/** One document a pool; as many nodes may join as there are workers. */
export function inventoryText(workers: readonly Worker[]): string {
  const pools = [...new Set(workers.map(({ pool }) => pool))].sort();
  return pools
    .map((pool) => {
      const own = workers.filter((worker) => worker.pool === pool);
      return stringify({
        pool,
        replicas: own.length,
        workers: own.map(({ deadline, ips, name, notBefore }) => ({
          name,
          ...(ips.length === 0 ? {} : { ips: [...ips] }),
          notBefore,
          deadline,
        })),
      });
    })
    .join("---\n");
}
