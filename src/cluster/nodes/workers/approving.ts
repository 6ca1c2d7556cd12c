/** An approver of certificate requests for as long as a command waits for its workers. */
import { hostname } from "node:os";
import { join } from "node:path";
import { DrawbridgeError, wrapErrors } from "../../../base/errors/error.js";
import { makeDirectory } from "../../../base/files.js";
import { kubeManifest } from "../../kube/builders.js";
import { KubeApiError } from "../../kube/errors.js";
import { LeaderElection } from "../../kube/leader.js";
import { isLeaseValid, type Lease, leasePath } from "../../kube/lease.js";
import { find } from "../../kube/objects.js";
import { collectionPath, objectPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { Approver } from "../csr/approver.js";
import { openDecisionLog } from "../csr/decide.js";
import { configMapInventory, directoryInventory, INVENTORY_LABEL, withClaimsOf } from "../csr/inventory.js";
import { MemoryStore } from "../csr/memory.js";
import type { ApprovalPolicy } from "../csr/request-context.js";
import { APPROVER_NAME } from "../permissions.js";
import type { WorkersContext } from "./change.js";
import { inventoryText, type Worker } from "./worker.js";

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
  // Nobody is expected before the first worker is recorded.
  await wrapErrors("DB_WORKERS", `${store.inventoryDirectory} cannot be made`, () =>
    makeDirectory(store.inventoryDirectory, 0o700),
  );
  const log = openDecisionLog(join(store.directory, "decisions.jsonl"));
  const expected = directoryInventory(store.inventoryDirectory);
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
    ...{ api, policy, log, intervalMs: INTERVAL_MS, onError, dryRun: false },
    // An Ignition server writes its claims beside the pool.
    inventory: policy.needsClaim
      ? withClaimsOf(expected, configMapInventory(clusters.pools, pool.namespace))
      : expected,
    store: new MemoryStore(api, { namespace, name: APPROVER_NAME }),
    leading: () => election.leading,
    onDecision: ({ action, explanation, kind, node, request }) => {
      const done = { approve: "approved", deny: "denied", leave: "left pending" }[action];
      progress.log(`${node || "?"}: ${kind} certificate request ${request} ${done}: ${explanation}`);
    },
  });
  const isElsewhere = () =>
    election.leading || progress.log("approver: another one decides here; it must know these workers (--publish)");
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

/** Rejects before machines are made whose certificate requests nobody would decide. */
export async function requireApprover(api: KubeApi, namespace: string, now: number): Promise<void> {
  const lease = await find<Lease>(api, leasePath(namespace, APPROVER_NAME));
  if (lease?.spec?.holderIdentity && isLeaseValid(lease, now)) return;
  const how = "give --approve, start drawbridge csr approver, or say --approved-elsewhere";
  const sentence = `nobody approves certificate requests: no approver holds the lease ${APPROVER_NAME} in ${namespace}; ${how}`;
  throw new DrawbridgeError("DB_WORKERS", sentence);
}

async function ensureNamespace(api: KubeApi, name: string): Promise<void> {
  try {
    await api.create(collectionPath("Namespace"), kubeManifest("Namespace", { name }));
  } catch (reason) {
    // A user who may not create it may still use it, and a directory of objects needs none.
    const isFine = reason instanceof KubeApiError && [403, 404, 409].includes(reason.status);
    if (!isFine) throw reason;
  }
}

const NAME = "drawbridge-workers";

/** Writes the inventory into a ConfigMap, where an approver in that cluster finds it. */
export async function publishInventory(api: KubeApi, namespace: string, workers: readonly Worker[]): Promise<string> {
  const metadata = { name: NAME, namespace, labels: { [INVENTORY_LABEL]: "true" } };
  const map = kubeManifest("ConfigMap", metadata, { data: { "workers.yaml": inventoryText(workers) } });
  await api.apply(objectPath(map), map, { fieldManager: NAME, force: true });
  return `ConfigMap ${namespace}/${NAME}`;
}
