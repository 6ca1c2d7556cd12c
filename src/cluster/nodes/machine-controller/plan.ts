/** Which workers of a pool are made and removed next. Nothing is changed here. */
import { isReady } from "../../kube/pods.js";
import { type Node, parseTime } from "../objects.js";
import { removalRank } from "../workers/change.js";
import { configurationOf } from "../workers/status.js";
import type { Worker } from "../workers/worker.js";
import type { HealthRule, RollingRule } from "./rules.js";

export interface PlanInput {
  readonly desired: number;
  /** All workers of the pool. */
  readonly workers: readonly Worker[];
  readonly nodes: ReadonlyMap<string, Node>;
  /** Of the pool's configuration. */
  readonly hash: string;
  readonly rolling: RollingRule;
  /** Who made the machines that may be removed. */
  readonly provider: string;
  /** Names of the workers that are to be repaired. */
  readonly repaired: readonly string[];
}

export interface Removal {
  readonly name: string;
  readonly why: "its removal was begun before" | "it is not healthy" | "there are too many" | "it is behind";
}

export interface MachinePlan {
  /** How many workers more there should be. */
  readonly make: number;
  /** Those that are recorded and have no machine yet. */
  readonly unmade: readonly string[];
  readonly remove: readonly Removal[];
  /** Those whose configuration is not the pool's. */
  readonly behind: readonly string[];
}

/**
 * As Kubernetes rolls a Deployment: with a surge the new machine is made first, and what is Ready is removed only while enough
 * other nodes are Ready.
 */
export function planMachines(input: PlanInput): MachinePlan {
  const { desired, hash, nodes, provider, repaired, rolling, workers } = input;
  const ready = ({ name }: Worker) => isReady(nodes.get(name));
  const own = workers.filter((worker) => worker.provider === provider);
  const leaving = own.filter((worker) => worker.leaving !== undefined);
  const staying = workers.filter((worker) => worker.leaving === undefined);
  const behind = own.filter(
    (worker) => worker.leaving === undefined && configurationOf(worker, nodes.get(worker.name), hash) === "behind",
  );
  const sick = own.filter(({ leaving: isLeaving, name }) => isLeaving === undefined && repaired.includes(name));
  const old = rolling.replaces ? behind.filter((worker) => !sick.includes(worker)) : [];
  const fresh = staying.filter((worker) => !old.includes(worker) && !sick.includes(worker));
  const surge = old.length + leaving.length > 0 ? rolling.surge : 0;

  const least = Math.max(0, desired - rolling.unavailable);
  let available = workers.filter(ready).length;
  const remove: Removal[] = [];
  const take = (worker: Worker, why: Removal["why"]) => {
    if (ready(worker) && available <= least) return;
    if (ready(worker)) available--;
    remove.push({ name: worker.name, why });
  };
  for (const worker of leaving) take(worker, "its removal was begun before");
  for (const worker of sick) take(worker, "it is not healthy");
  const byRank = (all: readonly Worker[]) =>
    [...all].sort((a, b) => removalRank(a, nodes, hash) - removalRank(b, nodes, hash));
  const tooMany = byRank(fresh.filter((worker) => own.includes(worker)));
  for (const worker of tooMany.slice(0, Math.max(0, fresh.length - desired))) take(worker, "there are too many");
  // Those that are not Ready only while new ones that are not Ready either leave room for it.
  const spare = staying.length - sick.length - least - fresh.filter((worker) => !ready(worker)).length;
  const broken = byRank(old.filter((worker) => !ready(worker))).slice(0, Math.max(0, spare));
  for (const worker of [...broken, ...byRank(old.filter(ready))]) take(worker, "it is behind");

  const isRemoved = ({ name }: Worker) => remove.some((removal) => removal.name === name);
  return {
    make: Math.max(0, Math.min(desired - fresh.length, desired + surge - workers.length)),
    unmade: own
      .filter((worker) => worker.leaving === undefined && !worker.made && !isRemoved(worker))
      .map(({ name }) => name),
    remove,
    behind: behind.map(({ name }) => name),
  };
}

export interface HealthInput extends Pick<PlanInput, "workers" | "nodes"> {
  readonly now: number;
  readonly rule: HealthRule;
  /** Since when Nodes that were there are missed, by name. */
  readonly missingSince: ReadonlyMap<string, number>;
}

/** The workers that are to be repaired, and how many are not Ready, for whatever reason. */
export function unhealthyWorkers({ missingSince, nodes, now, rule, workers }: HealthInput) {
  const staying = workers.filter(({ leaving }) => leaving === undefined);
  const isUnhealthy = (worker: Worker): boolean => {
    const node = nodes.get(worker.name);
    if (isReady(node) || !worker.made) return false;
    if (node === undefined) {
      const missing = missingSince.get(worker.name);
      if (missing !== undefined) return now - missing >= rule.timeoutMs;
      return worker.readyAt === undefined && now - Date.parse(worker.notBefore) >= rule.startupMs;
    }
    const condition = node.status?.conditions?.find(({ type }) => type === "Ready");
    const since = parseTime(condition?.lastTransitionTime);
    return since !== undefined && now - since >= rule.timeoutMs;
  };
  const unhealthy = staying.filter(isUnhealthy).map(({ name }) => name);
  const notReady = workers.filter(({ name }) => !isReady(nodes.get(name))).length;
  return { unhealthy, notReady, isTooMany: notReady > rule.maxUnhealthy };
}

/** Whether so few are there that rather the list is wrong: none, or less than half of those that were there. */
export function isImplausible(before: number, seen: number, desired: number): boolean {
  return seen < desired && seen * 2 < before;
}
