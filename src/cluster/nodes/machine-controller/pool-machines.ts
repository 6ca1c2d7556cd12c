/** Keeps the machines of one pool as the pool says, one pass after the other. */
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../../base/clock.js";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { isConflict, isTransient } from "../../kube/errors.js";
import { againOnConflict, find } from "../../kube/objects.js";
import { namedPath, typed } from "../../kube/paths.js";
import { isReady } from "../../kube/pods.js";
import { LeadershipLost } from "../controller/controller.js";
import { type EventContent, label, type Node, type ObjectName, pathOf } from "../objects.js";
import type { NodePool, NodePoolStatus } from "../pool/node-pool.js";
import { requireTools } from "../providers/run.js";
import { PoolMissing } from "../token/user-data.js";
import type { WorkOutcome } from "../work-queue.js";
import { type ApprovalMode, requireApprover } from "../workers/approving.js";
import { makeOptionsFor, markLeaving, removeWorker, type WorkersContext } from "../workers/change.js";
import { Deadline, type Progress } from "../workers/deadline.js";
import { eachOf } from "../workers/each-of.js";
import { isBusy, LockLost } from "../workers/lock.js";
import { createWorkers, type MachineTemplate, removalSteps } from "../workers/machines.js";
import { machineNetworks } from "../workers/networks.js";
import { type DrainRules, requireDrainable } from "../workers/node.js";
import { type Clusters, readPool } from "../workers/status.js";
import type { WorkerStore } from "../workers/store.js";
import { labelNodes } from "../workers/verify.js";
import { isInGroup, type Worker, type WorkerGroup, workersError } from "../workers/worker.js";
import {
  failedRemoval,
  isAcknowledged,
  type MachineState,
  machineStatus,
  removalCondition,
  repairs,
  type Stop,
  withoutMachineStatus,
} from "./conditions.js";
import { isImplausible, planMachines, unhealthyWorkers } from "./plan.js";
import { foreignMachine, healthRuleOf, type LeftAlone, leftAlone, rollingRuleOf } from "./rules.js";

export interface PoolMachinesOptions {
  readonly clusters: Clusters;
  readonly clock: Clock;
  /** Which pools are this controller's, by their annotation. */
  readonly provider: string;
  /** How machines are made; all of it is this host's, and nothing of it the pool's. */
  readonly machines: (pool: ObjectName) => { readonly group: WorkerGroup; readonly template: MachineTemplate };
  readonly reader: (pool: ObjectName) => WorkerStore;
  /** Opens the store for as long as `use` takes, with no other command at work on the pool. */
  readonly withPool: (pool: ObjectName, use: (store: WorkerStore) => Promise<void>) => Promise<void>;
  readonly approval: ApprovalMode;
  readonly rules: DrainRules;
  readonly joinWithinMs: number;
  /** How long until the next look while something is under way. */
  readonly intervalMs: number;
  /** Only the leader writes. */
  readonly leading: () => boolean;
  readonly signal: AbortSignal;
  readonly progress: (pool: ObjectName) => Progress;
  /** Something that somebody should know: a line of the log, and an event of the pool. */
  readonly tell: (pool: NodePool, content: EventContent) => void;
  readonly onChanged?: (what: "made" | "removed", count: number) => void;
}

/** While nothing is under way. */
const IDLE_INTERVALS = 6;
/** A node that is not drained by then is tried again in the next pass. */
const DRAIN_MS = 60_000;
const PASS_MS = 15 * 60_000;
const REMOVALS_AT_ONCE = 5;
/** In one pass: after it the pool says how far things are. */
const MOST_MADE = 10;
const ATTEMPTS = 5;
const FIRST_DELAY_MS = 5000;
const LONGEST_DELAY_MS = 5 * 60_000;

/** Of a pool, at one moment. */
interface Counts {
  readonly workers: number;
  readonly nodes: number;
}

interface Look extends MachineState {
  readonly pool: NodePool;
  readonly alone: LeftAlone | undefined;
}

export class PoolMachines {
  readonly #options: PoolMachinesOptions;
  readonly #name: ObjectName;
  /** Since when Nodes that were there are missed. */
  readonly #missingSince = new Map<string, number>();
  readonly #joined = new Set<string>();
  /** How many were there when that was last plausible; undefined before the first look. */
  #counts: Counts | undefined;
  #creation: { readonly failures: number; readonly retryAt: number; readonly message: string } | undefined;
  /** Why the last removal failed, where nobody knows whether the next would, too. */
  #failure: string | undefined;
  #problem = "";
  #told = "";

  constructor(name: ObjectName, options: PoolMachinesOptions) {
    this.#name = name;
    this.#options = options;
  }

  /** `seen` gives the pool as it was last seen, also while the pass takes its time; undefined: it was deleted. */
  async pass(
    pool: NodePool,
    alone: LeftAlone | undefined,
    seen: () => NodePool | undefined = () => pool,
  ): Promise<WorkOutcome> {
    const { clock, leading, provider, withPool } = this.#options;
    // A lead that was lost for a moment is not always reported.
    if (!leading()) return this.#later(IDLE_INTERVALS);
    try {
      const why = alone ?? leftAlone(pool, provider, clock.date());
      if (why !== undefined) return await this.#leave(pool, why);
      const first = await this.#look(this.#options.reader(this.#name));
      if (first.alone !== undefined) return await this.#leave(first.pool, first.alone);
      await this.#label(first);
      await this.#report(first);
      if (this.#isIdle(first)) {
        this.#settle(first);
        return this.#later(first.health.notReady > 0 ? 1 : IDLE_INTERVALS);
      }
      await withPool(this.#name, (store) => this.#act(store, seen));
      return this.#later(1);
    } catch (reason) {
      if (reason instanceof PoolMissing) return "wait";
      if (!isLost(reason) && !isBusy(reason) && !isConflict(reason)) {
        this.#tell(pool, messageOf(reason), { type: "Warning", reason: "ReconcileError" });
      }
      return "retry";
    }
  }

  #later(intervals: number): WorkOutcome {
    const { clock, intervalMs } = this.#options;
    return clock.date() + intervals * intervalMs;
  }

  /** What is not this controller's is said once; what it wrote before is taken back. */
  async #leave(pool: NodePool, { isQuiet, why }: LeftAlone): Promise<WorkOutcome> {
    if (isQuiet !== true)
      this.#tell(pool, `its machines are left alone: ${why}`, { type: "Normal", reason: "LeftAlone" });
    const isTakenBack = isQuiet === true && withoutMachineStatus(pool) !== undefined;
    if (isTakenBack) await this.#writeStatus(withoutMachineStatus);
    return isQuiet === true ? "wait" : this.#later(IDLE_INTERVALS);
  }

  /** Everything that is decided by, at one moment. */
  async #look(store: WorkerStore): Promise<Look> {
    const { clock, clusters, provider } = this.#options;
    const now = clock.date();
    const workers = (await store.read()).filter((worker) => worker.pool === pathOf(this.#name));
    const snapshot = await readPool(clusters, this.#name, workers, now);
    const { hash, nodes, pool } = snapshot;
    const names = new Set(workers.map(({ name }) => name));
    for (const name of this.#joined) if (!names.has(name)) this.#joined.delete(name);
    for (const { name, readyAt } of workers) {
      if (nodes.has(name)) this.#missingSince.delete(name);
      else if ((readyAt !== undefined || this.#joined.has(name)) && !this.#missingSince.has(name)) {
        this.#missingSince.set(name, now);
      }
      if (nodes.has(name)) this.#joined.add(name);
    }
    const rule = healthRuleOf(pool, workers.length);
    const health = unhealthyWorkers({ workers, nodes, now, rule, missingSince: this.#missingSince });
    const desired = pool.spec?.replicas ?? 0;
    const repaired = repairs(pool) && !health.isTooMany ? health.unhealthy : [];
    const plan = planMachines({ desired, workers, nodes, hash, provider, repaired, rolling: rollingRuleOf(pool) });
    const alone = leftAlone(pool, provider, now) ?? this.#machineOfOthers(nodes);
    const counts = { workers: workers.length, nodes: workers.filter(({ name }) => nodes.has(name)).length };
    const stop = this.#stopOf(
      pool,
      counts,
      workers.some(({ leaving }) => leaving !== undefined),
      plan,
    );
    const { maxUnhealthy } = rule;
    return {
      ...{ pool, snapshot, workers, plan, stop, alone },
      health: { ...health, maxUnhealthy },
      problem: this.#problem,
    };
  }

  #machineOfOthers(nodes: ReadonlyMap<string, Node>): LeftAlone | undefined {
    const isOurs = ({ metadata }: Node) => metadata?.labels?.[label.nodePool] === this.#name.name;
    const node = [...nodes.values()].find((one) => isOurs(one) && foreignMachine(one) !== undefined);
    return node && { why: `node ${node.metadata?.name} belongs to the machine ${foreignMachine(node)}` };
  }

  #stopOf(pool: NodePool, counts: Counts, isBegun: boolean, plan: MachineState["plan"]): Stop | undefined {
    const heard = isAcknowledged(pool);
    if (heard || !isBegun) this.#failure = undefined;
    if (heard) this.#counts = counts;
    const { replicas: before = 0 } = pool.status ?? {};
    const known = this.#counts ?? { workers: before, nodes: before };
    const desired = pool.spec?.replicas ?? 0;
    const few = (["workers", "nodes"] as const).find((what) => isImplausible(known[what], counts[what], desired));
    if (few !== undefined) {
      const message = `there are ${counts[few]} ${few}, and there were ${known[few]}: nothing is made or removed by such a list`;
      return { reason: "ListTooSmall", message, isHeld: true };
    }
    this.#counts = counts;
    const failed = this.#failure ?? (heard || !isBegun ? undefined : failedRemoval(pool));
    if (failed !== undefined) return { reason: "RemovalFailed", message: failed, isHeld: true };
    if (plan.make + plan.unmade.length === 0) this.#creation = undefined;
    return this.#creation && { reason: "CreationFailed", message: this.#creation.message, isHeld: false };
  }

  #isIdle({ plan, stop }: Look): boolean {
    if (stop?.reason === "ListTooSmall") return true;
    const isDue = this.#creation === undefined || this.#options.clock.now() >= this.#creation.retryAt;
    const isMaking = plan.make + plan.unmade.length > 0 && isDue;
    return !isMaking && !(plan.remove.length > 0 && stop === undefined);
  }

  async #act(store: WorkerStore, seen: () => NodePool | undefined): Promise<void> {
    const { clock, leading, provider } = this.#options;
    const isLocked = store.requireLock;
    store.requireLock = () => {
      isLocked();
      if (!leading()) throw new LeadershipLost();
      // Draining takes a while, and somebody may have stopped it.
      const pool = seen();
      if (pool === undefined || leftAlone(pool, provider, clock.date()) !== undefined) throw new PoolTaken();
    };
    const look = await this.#look(store);
    if (look.alone !== undefined || look.stop?.reason === "ListTooSmall") return;
    const context = this.#context(store);
    const givenUp = givenUpOf(look);
    const isMaking = givenUp.length === 0 && look.plan.make + look.plan.unmade.length > 0;
    if (isMaking) await this.#make(look, context);
    // Not after machines were made, which takes a while: what is Ready then decides. And only what the pool itself says is
    // allowed: a stop that nobody could write down would be forgotten.
    const isAllowed = !isMaking && look.stop === undefined && removalCondition(look.pool)?.status === "True";
    const removals = isAllowed ? look.plan.remove : givenUp;
    await this.#remove(removals.slice(0, REMOVALS_AT_ONCE), look, context);
    const last = await this.#look(store);
    await this.#report(last);
    this.#settle(last);
  }

  #context(store: WorkerStore): WorkersContext {
    const { approval, clusters, joinWithinMs, rules } = this.#options;
    const [deadline, pool] = [this.#deadline(), this.#name];
    return { approval, clusters, deadline, joinWithinMs, pool, rules, store, drainMs: DRAIN_MS, maxUnavailable: 1 };
  }

  #deadline(): Deadline {
    const { clock, progress, signal } = this.#options;
    return new Deadline({ timeoutMs: PASS_MS, progress: progress(this.#name), clock, signal });
  }

  async #make({ plan, pool, workers }: Look, context: WorkersContext): Promise<void> {
    const { approval, clock, clusters, machines, onChanged } = this.#options;
    if (this.#creation !== undefined && clock.now() < this.#creation.retryAt) return;
    try {
      if (approval.by !== "anybody") await requireApprover(clusters.nodes, approval.namespace, clock.date());
      const { group, template } = machines(this.#name);
      const networks = await machineNetworks(clusters.pools, pool, template.networks ?? []);
      const more = Math.min(plan.make, Math.max(0, MOST_MADE - plan.unmade.length));
      const count = workers.filter((worker) => isInGroup(worker, group)).length + more;
      const made = await createWorkers(await makeOptionsFor(context), { ...group, count }, { ...template, networks });
      onChanged?.("made", made.filter(({ action }) => action === "made").length);
      this.#creation = undefined;
    } catch (reason) {
      if (isLost(reason)) throw reason;
      const failures = (this.#creation?.failures ?? 0) + 1;
      const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1));
      const message = `a machine could not be made: ${messageOf(reason)}`;
      this.#creation = { failures, retryAt: clock.now() + delay, message };
      this.#tell(pool, message, { type: "Warning", reason: "CreationFailed" });
    }
  }

  async #remove(removals: Look["plan"]["remove"], { pool, workers }: Look, context: WorkersContext): Promise<void> {
    const { clusters, deadline, rules, store } = context;
    this.#problem = "";
    try {
      await eachOf(removals, REMOVALS_AT_ONCE, async ({ name, why }) => {
        const worker = workers.find((one) => one.name === name)!;
        this.#requireOwn(worker);
        await deadline.retry("the pods", () => requireDrainable(clusters.nodes, [name], rules));
        await requireTools(removalSteps(store, worker));
        store.requireLock();
        await markLeaving(context, [name], "removed");
        deadline.progress.log(`${name} is being removed: ${why}`);
        await removeWorker(worker, context);
        this.#forget(name);
        this.#options.onChanged?.("removed", 1);
      });
    } catch (reason) {
      if (isLost(reason)) throw reason;
      const message = messageOf(reason);
      if (isUnderstood(reason)) this.#problem = message;
      else this.#failure = message;
      this.#tell(pool, message, { type: "Warning", reason: isUnderstood(reason) ? "RemovalDelayed" : "RemovalFailed" });
    }
  }

  /** The flags of this controller say in which project machines are removed, and not whoever may write Workers. */
  #requireOwn({ name, shape: { project } }: Worker): void {
    const own = this.#options.machines(this.#name).template.shape.project;
    if (project === own) return;
    const why = own === "" ? "this controller was given none" : `this controller's is "${own}"`;
    throw workersError(`${name} is said to be in the project "${project}", and ${why} (--project): it is not removed`);
  }

  /** One that this controller removed is not missed. */
  #forget(name: string): void {
    const nodes = this.#joined.delete(name) ? 1 : 0;
    this.#missingSince.delete(name);
    const before = this.#counts;
    this.#counts = before && { workers: before.workers - 1, nodes: before.nodes - nodes };
  }

  async #label({ snapshot, workers }: Look): Promise<void> {
    const { clusters, leading } = this.#options;
    if (leading()) await labelNodes({ clusters, deadline: this.#deadline(), workers }, snapshot);
  }

  async #report(look: Look): Promise<void> {
    await this.#writeStatus((pool) => machineStatus(pool, look, this.#options.clock.date()));
  }

  async #writeStatus(make: (pool: NodePool) => NodePoolStatus | undefined): Promise<void> {
    const { clusters, leading } = this.#options;
    const path = namedPath("NodePool", this.#name);
    await againOnConflict(ATTEMPTS, async () => {
      const pool = await find<NodePool>(clusters.pools, path);
      if (pool === undefined) return;
      const status = make(pool);
      if (status === undefined || isDeepStrictEqual(status, pool.status)) return;
      if (!leading()) throw new LeadershipLost();
      await clusters.pools.update(`${path}/status`, typed("NodePool", { ...pool, status }));
    });
  }

  /** All is well again: whatever comes next is said. */
  #settle({ problem, stop }: Look): void {
    if (stop === undefined && problem === "") this.#told = "";
  }

  /** The same sentence once, until all is well again. */
  #tell(pool: NodePool, message: string, kind: Pick<EventContent, "type" | "reason">): void {
    if (message === this.#told) return;
    this.#told = message;
    this.#options.tell(pool, { ...kind, message });
  }
}

/**
 * Workers that could not be made and are not wanted any more. They leave before others are made, which would be tried together
 * with these, and also while a machine cannot be made.
 */
function givenUpOf({ plan, snapshot, stop, workers }: Look): Look["plan"]["remove"] {
  if (stop?.reason === "RemovalFailed") return [];
  const unmade = new Set(workers.filter(({ made }) => !made).map(({ name }) => name));
  return plan.remove.filter(({ name }) => unmade.has(name) && !isReady(snapshot.nodes.get(name)));
}

/** The pool is not this controller's any more. */
class PoolTaken extends Error {}

/** Another replica, or another command, may be at work by now, or nobody should. */
function isLost(reason: unknown): boolean {
  return reason instanceof LeadershipLost || reason instanceof LockLost || reason instanceof PoolTaken;
}

/** What passes by itself, or by what somebody does to the pods: it is tried again. */
function isUnderstood(reason: unknown): boolean {
  if (isTransient(reason) || isConflict(reason)) return true;
  return reason instanceof DrawbridgeError && ["DB_WORKERS_DRAIN", "DB_WORKERS_WAIT"].includes(reason.code);
}
