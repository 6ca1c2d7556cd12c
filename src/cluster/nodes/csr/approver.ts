/** Watches requests and nodes and decides what is pending, again and again: after every change, and every few seconds. */
import { type Clock, systemClock } from "../../../base/clock.js";
import { messageOf } from "../../../base/errors/error.js";
import type { Endpoint } from "../../../base/http.js";
import { processMetrics } from "../../../base/metrics/process-metrics.js";
import { MetricsRegistry } from "../../../base/metrics/registry.js";
import { ListWatch } from "../../kube/list-watch.js";
import { collectionPath } from "../../kube/paths.js";
import { isReady } from "../../kube/pods.js";
import type { KubeApi } from "../../kube/port.js";
import { byName, type Node } from "../objects.js";
import { APPROVER_NAME } from "../permissions.js";
import { Replica } from "../replica.js";
import { type WorkOutcome, WorkQueue } from "../work-queue.js";
import { eachOf } from "../workers/each-of.js";
import {
  apiServerAddresses,
  carryOut,
  countRecentPending,
  type Decision,
  type DecisionLog,
  decide,
  decisionEntry,
  openDecisionLog,
} from "./decide.js";
import type { Inventory, InventorySource } from "./inventory.js";
import type { WorkerObjects } from "./inventory-workers.js";
import {
  type HeldNames,
  heldNamesOf,
  type NodeRecord,
  sinceReinstall,
  updatedRecord,
  withCertificate,
  withoutApproval,
} from "./memory.js";
import type { MemoryStore } from "./memory-store.js";
import type { ApprovalPolicy, ClusterState } from "./request-context.js";
import { mostPending } from "./rules.js";
import {
  createdAt,
  issuedServing,
  kindOf,
  outcomeOf,
  REQUESTS_PATH,
  requestName,
  requestUid,
  type SigningRequest,
} from "./signing-request.js";

export interface ApproverOptions {
  readonly api: KubeApi;
  readonly policy: ApprovalPolicy;
  readonly inventory: InventorySource;
  readonly store: MemoryStore;
  /** Watched with everything else; undefined when the inventory is in files. */
  readonly workers?: WorkerObjects | undefined;
  readonly log: DecisionLog;
  /** Only the leader decides. */
  readonly leading: () => boolean;
  /** Decides and logs, and writes nothing into the cluster. */
  readonly dryRun: boolean;
  /** Requests are decided again after this long even without a change: windows open, rates recover, inventories are edited. */
  readonly intervalMs: number;
  readonly clock?: Clock;
  /** Every decision that is new: the first about a request, and one that differs from the last. */
  readonly onDecision?: (decision: Decision) => void;
  /** With the names of the Workers whose records were in the ConfigMap until now. */
  readonly onTakeOver?: (names: readonly string[]) => void;
  readonly onError?: (sentence: string, reason?: unknown) => void;
}

type PlannedApproval = Readonly<{ request: SigningRequest; decision: Decision; state: ClusterState }>;

/** The record of a node that somebody else approved. */
const noRecord: NodeRecord = { pool: "" };

/** The one key of the queue. */
const EVERYTHING = "requests";
/** The most approvals that are remembered in one write. */
const MOST_AT_ONCE = 25;
/** An API server far away must not make thousands of machines wait for each other. */
const WRITES_AT_ONCE = 10;

export class Approver {
  readonly #options: ApproverOptions;
  readonly #clock: Clock;
  readonly #requests: ListWatch<SigningRequest>;
  readonly #nodes: ListWatch<Node>;
  /** Last decision by the request's uid, so that each is reported and logged once. */
  readonly #reported = new Map<string, string>();
  /** Requests whose certificates are in the memory, by uid. */
  readonly #recorded = new Set<string>();
  /** Holds one key: there is one thing to do, again and again. */
  readonly #queue: WorkQueue;
  #stopped = false;
  #wasLeading = false;
  /** Why the last pass failed; undefined when it did not. */
  problem: string | undefined = "requests and nodes have not been listed yet";
  /** The pending requests that the brake counted last, and its limit. */
  pendingCounts = { pending: 0, limit: 0 };

  constructor(options: ApproverOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const { api, onError } = options;
    const shared = {
      api,
      clock: this.#clock,
      onChange: () => this.wake(),
      onError: (reason: unknown) => onError?.(messageOf(reason), reason),
    };
    this.#queue = new WorkQueue({ clock: this.#clock, work: () => this.#decideAll() });
    this.#requests = new ListWatch<SigningRequest>({ ...shared, path: REQUESTS_PATH });
    this.#nodes = new ListWatch<Node>({ ...shared, path: collectionPath("Node") });
  }

  /** Returns at once. */
  start(): void {
    const { onError, workers } = this.#options;
    this.#requests.start();
    this.#nodes.start();
    workers?.start({
      ...{ clock: this.#clock, onChange: () => this.wake() },
      onError: (reason) => onError?.(messageOf(reason), reason),
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const { workers } = this.#options;
    await Promise.all([this.#requests.stop(), this.#nodes.stop(), workers?.stop(), this.#queue.stop()]);
  }

  /** Decides all requests soon; many calls in a row make one pass. */
  wake(): void {
    this.#queue.add(EVERYTHING);
  }

  async #decideAll(): Promise<WorkOutcome> {
    try {
      await this.#pass();
    } catch (reason) {
      this.problem = messageOf(reason);
      this.#options.onError?.(this.problem, reason);
      this.#wasLeading = false;
    }
    return this.#clock.date() + this.#options.intervalMs;
  }

  async #pass(): Promise<void> {
    const { api, dryRun, inventory, leading, policy, store, workers } = this.#options;
    if (!this.#requests.synced || !this.#nodes.synced || workers?.synced === false) return;
    if (!leading()) {
      this.#wasLeading = false;
      this.problem = undefined;
      return;
    }
    // The former leader may have written; a dry run never leads, so it reads every time.
    if (!this.#wasLeading || dryRun) {
      await store.load();
      this.#recorded.clear();
    }
    this.#wasLeading = true;
    if (workers !== undefined) store.noteWorkers(await workers.all());
    const read = await inventory();
    if (read.outdated !== undefined && read.outdated !== this.problem) this.#options.onError?.(read.outdated);
    this.problem = read.outdated;
    await this.#updateMemory(read);
    const pending = [...this.#requests.items.values()].sort((a, b) => createdAt(a) - createdAt(b));
    this.#forgetGone(pending);
    const isServed = pending.some((one) => kindOf(one) === "serving" && outcomeOf(one) === "pending");
    const apiServer = isServed ? await apiServerAddresses(api) : new Set<string>();
    const planned: PlannedApproval[] = [];
    // As it will be once all that is planned is done: each decision counts the ones before it.
    const memory = new Map(store.memory);
    const nodes = byName(this.#nodes.items.values());
    const recentPending = countRecentPending(pending, this.#clock.date());
    for (const request of pending) {
      if (this.#stopped || !leading()) return;
      const now = this.#clock.date();
      const state = { now, policy, inventory: read, memory, nodes, apiServer, recentPending };
      this.pendingCounts = { pending: recentPending, limit: mostPending(state) };
      const decision = await this.#consider(request, state);
      if (decision?.action !== "approve") continue;
      memory.set(decision.node, decision.remember);
      if (!dryRun) planned.push({ request, decision, state });
      if (planned.length >= MOST_AT_ONCE) await this.#approve(planned.splice(0));
    }
    await this.#approve(planned);
  }

  /** Reports requests that stay pending and denies forgeries; an approval is only planned. */
  async #consider(request: SigningRequest, state: ClusterState): Promise<Decision | undefined> {
    const { dryRun, log } = this.#options;
    // Our own answer may not have come back through the watch yet.
    if (!dryRun && /^(approve|deny) /.test(this.#reported.get(requestUid(request)) ?? "")) return undefined;
    const decision = decide(request, state);
    if (decision === undefined) return undefined;
    if (decision.action === "leave" || dryRun) {
      if (!this.#isNews(request, decision)) return decision;
      log.write(decisionEntry(decision, request, state.now, dryRun ? "dry run" : "leader"));
      this.#report(request, decision);
    } else if (decision.action === "deny") await this.#write(request, state);
    return decision;
  }

  /** Remembers them together: the memory is one object, and writing it for each would be most of the work. */
  async #approve(planned: readonly PlannedApproval[]): Promise<void> {
    const { leading, store } = this.#options;
    if (planned.length === 0 || !leading()) return;
    await store.remember(new Map(planned.map(({ decision }) => [decision.node, decision.remember])));
    await eachOf(planned, WRITES_AT_ONCE, async ({ state, request }) => {
      if (this.#stopped || !leading()) return;
      await this.#write(request, { ...state, now: this.#clock.date(), memory: store.memory });
    });
  }

  async #write(request: SigningRequest, state: ClusterState): Promise<void> {
    const { leading, onError } = this.#options;
    const result = await carryOut({ ...this.#options, by: "leader", mayWrite: leading }, request, state);
    if (result.done) this.#report(request, result.decision);
    else onError?.(`${requestName(request)} was not decided: ${result.because}`);
  }

  /**
   * A worker's entry is used up once its node was there; certificates are known once they are signed, and end; what is left of
   * nobody any more is forgotten after a while.
   */
  async #updateMemory({ claims, workers }: Inventory): Promise<void> {
    const { dryRun, leading, store } = this.#options;
    if (dryRun || !leading()) return;
    const now = this.#clock.date();
    const nodes = byName(this.#nodes.items.values());
    const changes = new Map<string, NodeRecord>();
    await this.#takeOver();
    for (const { name, reinstalled } of workers.values()) {
      const before = store.memory.get(name);
      const after = before && sinceReinstall(before, reinstalled);
      if (after !== undefined && after !== before) changes.set(name, after);
    }
    for (const { at, hash, pool, worker = "" } of claims) {
      if (hash === undefined || workers.get(worker)?.pool !== pool || !store.isWorker(worker)) continue;
      const before = changes.get(worker) ?? store.memory.get(worker);
      if ((before?.served?.at ?? 0) < at) changes.set(worker, { pool, ...before, served: { hash, at } });
    }
    const learned = this.#recordIssued(changes, (name) => nodes.has(name) || workers.has(name));
    const forgotten: string[] = [];
    for (const [name, of] of new Map([...store.memory, ...changes])) {
      const node = nodes.get(name);
      const seen = { hasNode: node !== undefined, isReady: store.isWorker(name) && isReady(node) };
      const change = updatedRecord(of, { ...seen, isExpected: workers.has(name), now });
      if (change === "forget") forgotten.push(name);
      else if (change !== undefined) changes.set(name, change);
    }
    if (changes.size + forgotten.length > 0) await store.remember(changes, forgotten);
    for (const uid of learned) this.#recorded.add(uid);
  }

  /** Moves what the ConfigMap has about Workers into their status, once: before there were Workers all was there. */
  async #takeOver(): Promise<void> {
    const { onTakeOver, store } = this.#options;
    const { misplaced } = store;
    for (let first = 0; first < misplaced.length; first += MOST_AT_ONCE) {
      const some = misplaced.slice(first, first + MOST_AT_ONCE);
      await store.remember(new Map(some.map((name) => [name, store.memory.get(name)!])));
    }
    if (misplaced.length > 0) onTakeOver?.(misplaced);
  }

  /** Records the certificates that were issued for serving requests, by any approver. Returns the uids that are finished. */
  #recordIssued(changes: Map<string, NodeRecord>, isPresent: (name: string) => boolean): string[] {
    const { store } = this.#options;
    const now = this.#clock.date();
    const done: string[] = [];
    const change = (node: string, of: NodeRecord, next: (held: readonly HeldNames[]) => readonly HeldNames[]) => {
      const before = heldNamesOf(of);
      const held = next(before);
      if (held !== before) changes.set(node, { ...of, held });
    };
    for (const request of this.#requests.items.values()) {
      const uid = requestUid(request);
      const outcome = outcomeOf(request);
      if (kindOf(request) !== "serving" || outcome === "pending" || this.#recorded.has(uid)) continue;
      const issued = issuedServing(request);
      if (issued !== undefined) {
        const { node, until } = issued;
        const of =
          changes.get(node) ?? store.memory.get(node) ?? (isPresent(node) && until > now ? noRecord : undefined);
        if (of !== undefined) change(node, of, (held) => withCertificate(held, uid, issued));
      } else if (outcome === "approved") {
        continue;
      } else {
        for (const [node, of] of new Map([...store.memory, ...changes])) {
          change(node, of, (held) => withoutApproval(held, uid));
        }
      }
      done.push(uid);
    }
    return done;
  }

  #isNews(request: SigningRequest, { action, rule }: Decision): boolean {
    return this.#reported.get(requestUid(request)) !== `${action} ${rule}`;
  }

  #report(request: SigningRequest, decision: Decision): void {
    this.#reported.set(requestUid(request), `${decision.action} ${decision.rule}`);
    this.#options.onDecision?.(decision);
  }

  #forgetGone(present: readonly SigningRequest[]): void {
    const uids = new Set(present.map(requestUid));
    for (const uid of this.#reported.keys()) if (!uids.has(uid)) this.#reported.delete(uid);
    for (const uid of this.#recorded) if (!uids.has(uid)) this.#recorded.delete(uid);
  }
}

interface ApproverConfig
  extends Pick<ApproverOptions, "api" | "policy" | "inventory" | "store" | "workers" | "dryRun" | "intervalMs"> {
  /** Namespace of the Lease. */
  readonly namespace: string;
  /** Empty: decisions go to the process's log only. */
  readonly decisionLog: string;
  /** Undefined: no port is opened. */
  readonly health: Endpoint | undefined;
}

/** Resolves to the exit code when the process should end. */
export async function runApprover(config: ApproverConfig): Promise<number> {
  const { api, dryRun, health, namespace } = config;
  const log = openDecisionLog(config.decisionLog);
  const replica: Replica = new Replica({
    ...{ api, namespace, name: APPROVER_NAME, health, onFailure: () => metrics.failed() },
    onLeaderChange: (leads) => {
      logger.info(0, leads ? "this replica decides" : "another replica decides");
      approver.wake();
    },
  });
  const { election, logger, onError } = replica;
  // A dry run writes nothing, so it need not be elected.
  const leading = () => dryRun || election.leading;
  const approver: Approver = new Approver({
    ...{ ...config, log, leading, onError },
    onTakeOver: (names) =>
      logger.info(0, "records of workers were moved from the ConfigMap", { workers: names.length }),
    onDecision: (decision) => {
      metrics.decided(decision);
      const { explanation, kind, node, pool, request, rule } = decision;
      logger.info(0, verb(decision, dryRun), { request, kind, node, pool, rule, why: explanation });
    },
  });
  const metrics = approverMetrics(() => approver, leading);
  return replica.run({
    ...{ what: "csr approver", fields: { dryRun }, registry: metrics.registry, problem: () => approver.problem },
    start: () => {
      if (!dryRun) election.start();
      approver.start();
    },
    stop: async () => {
      await approver.stop();
      log.close();
    },
  });
}

function verb({ action }: Decision, dryRun: boolean): string {
  const done = { approve: "approved", deny: "denied", leave: "left pending" }[action];
  return dryRun && action !== "leave" ? `would be ${done}` : done;
}

const PREFIX = "drawbridge_csr_";

export function approverMetrics(approver: () => Approver, leading: () => boolean) {
  const registry = new MetricsRegistry();
  const decisions = registry.counter(
    `${PREFIX}decisions_total`,
    "Decisions about requests, by the rule that was broken first (all: none was).",
    ["action", "kind", "rule"],
  );
  const failures = registry.counter(`${PREFIX}failures_total`, "Looks that failed, and lost connections.");
  registry.gauge(
    `${PREFIX}pending`,
    "Undecided requests of kubelets that are younger than an hour.",
    () => approver().pendingCounts.pending,
  );
  registry.gauge(
    `${PREFIX}pending_limit`,
    "Above this many of them nothing is approved.",
    () => approver().pendingCounts.limit,
  );
  registry.gauge(`${PREFIX}leader`, "Whether this replica decides.", () => Number(leading()));
  processMetrics(registry);
  return {
    registry,
    decided: ({ action, kind, rule }: Decision) => decisions.inc({ action, kind, rule }),
    failed: () => failures.inc(),
  };
}
