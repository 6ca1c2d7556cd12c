/** An approver of certificate requests for as long as a command waits for its workers. */
import { hostname } from "node:os";
import { join } from "node:path";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { LeaderElection } from "../../kube/leader.js";
import { isLeaseValid, type Lease, leasePath } from "../../kube/lease.js";
import { find } from "../../kube/objects.js";
import type { KubeApi } from "../../kube/port.js";
import { Approver } from "../csr/approver.js";
import { openDecisionLog } from "../csr/decide.js";
import { configMapInventory, withClaimsOf } from "../csr/inventory.js";
import { WorkerObjects } from "../csr/inventory-workers.js";
import { MemoryStore } from "../csr/memory-store.js";
import type { ApprovalPolicy } from "../csr/request-context.js";
import { APPROVER_NAME } from "../permissions.js";
import type { WorkersContext } from "./change.js";
import { ensureNamespace } from "./resource-install.js";

/** Who decides the certificate requests of new machines: this command, an approver that runs, or anybody else. */
export interface ApprovalMode {
  readonly by: "this command" | "a running approver" | "anybody";
  /** Namespace of the approver's Lease and memory. */
  readonly namespace: string;
  readonly policy: ApprovalPolicy;
}

const INTERVAL_MS = 1000;
const HINT_MS = 5000;

/** Sees to it that certificate requests are decided while `run` makes machines. */
export async function approving<T>(context: WorkersContext, run: () => Promise<T>): Promise<T> {
  const { approval, clusters, deadline } = context;
  if (approval.by === "this command") return withApprover(context, run);
  if (approval.by === "a running approver") {
    await requireApprover(clusters.nodes, approval.namespace, deadline.clock.date());
  }
  return run();
}

/** Decides like every other approver, by the inventory of these workers; if one runs already, that one decides. */
async function withApprover<T>(context: WorkersContext, run: () => Promise<T>): Promise<T> {
  const { approval, clusters, deadline, pool, store } = context;
  const { namespace, policy } = approval;
  const api = clusters.nodes;
  const { progress } = deadline;
  await ensureNamespace(api, namespace);
  const log = openDecisionLog(join(store.directory, "decisions.jsonl"));
  const workers = new WorkerObjects(api, namespace);
  const complaints = new Set<string>();
  const onError = (sentence: string) => {
    if (!complaints.has(sentence)) progress.log(`approver: ${sentence}`);
    complaints.add(sentence);
  };
  const election = new LeaderElection({
    ...{ api, namespace, name: APPROVER_NAME, onError },
    // The same after a kill, so that nobody has to wait for the Lease to run out; two at a time the store does not allow.
    identity: `${hostname()}_${store.directory}`,
    onChange: () => approver.wake(),
  });
  const approver: Approver = new Approver({
    ...{ api, policy, log, workers, intervalMs: INTERVAL_MS, onError, dryRun: false },
    // An Ignition server writes its claims beside the pool.
    inventory: withClaimsOf(workers.expected, configMapInventory(clusters.pools, pool.namespace)),
    store: new MemoryStore(api, { namespace, name: APPROVER_NAME }, workers),
    leading: () => election.leading,
    onDecision: ({ action, explanation, kind, node, request }) => {
      const done = { approve: "approved", deny: "denied", leave: "left pending" }[action];
      progress.log(`${node || "?"}: ${kind} certificate request ${request} ${done}: ${explanation}`);
    },
  });
  const isElsewhere = () => election.leading || progress.log("approver: another one decides here");
  election.start();
  approver.start();
  const cancelHint = deadline.clock.after(HINT_MS, isElsewhere);
  try {
    return await run();
  } finally {
    cancelHint();
    await approver.stop();
    await election.stop();
    log.close();
  }
}

/** Whether an approver holds its Lease. */
export async function hasApprover(api: KubeApi, namespace: string, now: number): Promise<boolean> {
  const lease = await find<Lease>(api, leasePath(namespace, APPROVER_NAME));
  return lease !== undefined && !!lease.spec?.holderIdentity && isLeaseValid(lease, now);
}

/** Rejects before machines are made whose certificate requests nobody would decide. */
export async function requireApprover(api: KubeApi, namespace: string, now: number): Promise<void> {
  if (await hasApprover(api, namespace, now)) return;
  const how = "give --approve, start drawbridge csr approver, or say --approved-elsewhere";
  const sentence = `nobody approves certificate requests: no approver holds the lease ${APPROVER_NAME} in ${namespace}; ${how}`;
  throw new DrawbridgeError("DB_WORKERS", sentence);
}
