/** Pools and claims as the page shows them. */
import { isNotFound } from "../../../cluster/kube/errors.js";
import { NOT_LOOKED_AT, type PoolStatus, poolStatuses, troublesOf } from "../../../cluster/nodes/controller/status.js";
import type { CsrAccess } from "../../../cluster/nodes/csr/decide.js";
import type { Inventory } from "../../../cluster/nodes/csr/inventory.js";
import type { Memory } from "../../../cluster/nodes/csr/memory.js";
import { ROTATE_AFTER_MS } from "../../../cluster/nodes/token/token-secret.js";
import type { ClaimInfo, PoolInfo, PoolTrouble } from "../../observe/admin/contract.js";
import type { FactProvider, ProvidedFacts } from "./overview.js";

const MAX_POOLS = 100;
const MAX_TROUBLES = 10;
const MAX_MESSAGE = 500;
const MAX_CLAIMS = 100;

/** Who is expected, and who has come: undefined where nobody says. */
export interface Machines {
  readonly inventory: Inventory | undefined;
  readonly memory: Memory | undefined;
}

export function poolInfo(status: PoolStatus, machines: Machines): PoolInfo {
  const { name, cluster, version, replicas, hash, ready, tokens } = status;
  const token = tokens.find(({ current }) => current);
  const madeAt = Date.parse(token?.generated ?? "");
  const workers = workersOf(name, machines);
  return {
    ...{ name, cluster, version, replicas, hash, ready, workers },
    ...(Number.isNaN(madeAt) ? {} : { tokenMadeAt: madeAt, tokenRotatesAt: madeAt + ROTATE_AFTER_MS }),
    payload: token?.payload || undefined,
    troubles: troubles(status),
  };
}

function troubles(status: PoolStatus): readonly PoolTrouble[] {
  if (status.conditions.length === 0) return [{ type: "", message: NOT_LOOKED_AT }];
  return troublesOf(status)
    .slice(0, MAX_TROUBLES)
    .map(({ type, message, reason, lastTransitionTime }) => {
      const sinceAt = Date.parse(lastTransitionTime);
      return {
        ...{ type, message: (message || reason).slice(0, MAX_MESSAGE) },
        sinceAt: Number.isNaN(sinceAt) ? undefined : sinceAt,
      };
    });
}

/** A node that was approved, or that was there before the approver, has joined; one that is gone again has not. */
function workersOf(pool: string, { inventory, memory }: Machines): PoolInfo["workers"] {
  const listed = inventory?.pools.get(pool);
  if (inventory === undefined || listed === undefined || listed.workers === 0) return undefined;
  const own = [...inventory.workers.values()].filter((worker) => worker.pool === pool);
  const fetched = new Set(inventory.claims.filter((claim) => claim.pool === pool).map(({ worker }) => worker));
  const hasJoined = (name: string): boolean => {
    const remembered = memory?.get(name);
    return remembered?.joinedAt !== undefined && remembered.goneSince === undefined;
  };
  return {
    expected: own.length,
    fetched: own.filter(({ name }) => fetched.has(name)).length,
    joined: own.filter(({ name, joined }) => joined || hasJoined(name)).length,
  };
}

export function claimInfos({ claims }: Pick<Inventory, "claims">): { claims: ClaimInfo[]; leftOut: number } {
  const newest = [...claims].sort((a, b) => b.at - a.at).slice(0, MAX_CLAIMS);
  return {
    claims: newest.map(({ pool, worker, at }) => ({ pool, at, worker })),
    leftOut: claims.length - newest.length,
  };
}

export function poolsProvider({ api, inventory, store }: CsrAccess, namespace: string, where: string): FactProvider {
  const ask = async (): Promise<ProvidedFacts> => {
    const statuses = await poolStatuses(api, namespace).catch((reason: unknown) => {
      // A hosted cluster has nodes and requests; its pools are elsewhere.
      if (isNotFound(reason)) return undefined;
      throw reason;
    });
    if (statuses === undefined) return { facts: {} };
    // That these cannot be read is reported by their own sources.
    const [expected, memory] = await Promise.all([
      inventory().catch(() => undefined),
      store.load().catch(() => undefined),
    ]);
    const pools = statuses.slice(0, MAX_POOLS).map((one) => poolInfo(one, { inventory: expected, memory }));
    return { facts: { pools }, leftOut: statuses.length - pools.length };
  };
  return { what: "pools", where, ask };
}

export function claimsProvider({ inventory }: CsrAccess, where: string): FactProvider {
  const ask = async (): Promise<ProvidedFacts> => {
    const { claims, leftOut } = claimInfos(await inventory());
    return { facts: { claims }, leftOut };
  };
  return { what: "claims", where, ask };
}
