/** Flags and access that the csr commands share: their cluster, the inventory, the rules. */

import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import type { KubeApi } from "../../cluster/kube/port.js";
import { type CsrAccess, decide, type RequestsSnapshot, snapshotOf } from "../../cluster/nodes/csr/decide.js";
import { configMapInventory, directoryInventory, withEntriesOf } from "../../cluster/nodes/csr/inventory.js";
import { WorkerObjects } from "../../cluster/nodes/csr/inventory-workers.js";
import { MemoryStore } from "../../cluster/nodes/csr/memory-store.js";
import { Networks } from "../../cluster/nodes/csr/names.js";
import { type ApprovalPolicy, defaultPolicy } from "../../cluster/nodes/csr/request-context.js";
import { foreignRequestOf, outcomeOf, requestName } from "../../cluster/nodes/csr/signing-request.js";
import { APPROVER_NAME } from "../../cluster/nodes/permissions.js";
import { filePath, filled, inGroup, list, number, restricted, text, type Values, yesNo } from "../flags/flag.js";
import { namespaceFlag, objectFlags, openObjects } from "../framework/objects.js";

/** For --help: whom an approver expects. */
export const INVENTORY_HELP = `Expected are the Workers of --namespace (drawbridge workers makes them; kubectl get workers) and, for machines that have no
Worker, entries of every key of the ConfigMaps labelled drawbridge/inventory=true there. With --inventory only the
*.yaml, *.yml and *.json files of that directory count:

  pool: clusters/workers         # namespace/name of the pool
  replicas: 3                    # most nodes; if missing, all workers
  workers:
  - name: worker-0               # the node's name
    dnsNames: [worker-0.example] # further names for its serving certificate
    ips: [10.0.0.10]             # if missing, the node's own in --node-cidr
    notBefore: "2031-01-02T03:04:05Z"
    deadline: "2031-01-02T05:04:05Z"  # for its first certificate;
                                 # if missing, two hours after notBefore
    joined: false                # true: a node already, approved elsewhere
  claims:                        # who fetched a payload, for --require-claim
  - {worker: worker-0, at: "2031-01-02T03:10:00Z"}`;

const networks = (usage: string) =>
  restricted(list(usage), (prefixes) => {
    try {
      new Networks(prefixes);
    } catch (reason) {
      return messageOf(reason);
    }
  });

export const nodeCidrFlag = inGroup("advanced", {
  "node-cidr": networks("Network in which nodes may have addresses that are listed nowhere; repeatable."),
});

/** The rules of an approval. */
export const policyFlags = inGroup("advanced", {
  "bootstrap-user": filled(text("User that files the first requests of machines.", defaultPolicy.bootstrapUser)),
  "bootstrap-group": list(
    "Group of the bootstrap user; repeatable, and all of them must be given.",
    defaultPolicy.bootstrapGroups,
  ),
  ...nodeCidrFlag,
  "foreign-cidr": networks("Network of services, pods or the control plane, never a node's address; repeatable."),
  "reserved-name": list("Name of the control plane that no node may have; repeatable."),
  "require-claim": yesNo("Approve only machines that were seen fetching their configuration before they asked."),
  surge: number(defaultPolicy.surge, "Nodes that a pool may have beyond its replicas.", { least: 0 }),
  "pool-rate": number(defaultPolicy.poolRate, "Approvals in a minute and pool.", { least: 0 }),
  "deny-forgery": yesNo("Deny what no kubelet would ask; otherwise it stays pending.", true),
});

export const csrFlags = {
  ...objectFlags,
  ...namespaceFlag("Namespace of the inventory's ConfigMaps, of the lease and of the memory."),
  inventory: filePath("Directory with the inventory. If empty, Workers and ConfigMaps of the namespace."),
  ...policyFlags,
};

export type CsrFlags = Values<typeof csrFlags>;
export type PolicyFlags = Values<typeof policyFlags>;

export const decisionLogFlag = {
  "decision-log": filePath("File to which every decision is appended as a line of JSON. If empty, there is none."),
};

export function policyOf(flags: PolicyFlags): ApprovalPolicy {
  return {
    bootstrapUser: flags.bootstrapUser,
    bootstrapGroups: flags.bootstrapGroup,
    nodeNetworks: new Networks(flags.nodeCidr),
    foreignNetworks: new Networks(flags.foreignCidr),
    reservedNames: flags.reservedName,
    needsClaim: flags.requireClaim,
    surge: flags.surge,
    poolRate: flags.poolRate,
    deniesForgery: flags.denyForgery,
  };
}

/** `namespace`: the approver's. */
export async function openAccess(flags: CsrFlags, namespace = flags.namespace): Promise<CsrAccess> {
  return accessOf(await openObjects(flags, LIMITS), flags.inventory, namespace);
}

/** What is remembered of a Worker is in the Worker. */
const LIMITS = { qps: 100, burst: 200 };

/** Expected machines and memory of an approver. `directory`: files instead of Workers and ConfigMaps; empty: none. */
export function accessOf(api: KubeApi, directory: string, namespace: string): CsrAccess {
  const memory = { namespace, name: APPROVER_NAME };
  if (directory !== "") return { api, inventory: directoryInventory(directory), store: new MemoryStore(api, memory) };
  const workers = new WorkerObjects(api, namespace);
  const inventory = withEntriesOf(workers.expected, configMapInventory(api, namespace));
  return { api, inventory, workers, store: new MemoryStore(api, memory, workers) };
}

/** Reads all requests, and everything by which they are decided, and closes the cluster whatever happens. */
export async function withRequests<T>(
  flags: CsrFlags,
  use: (snapshot: RequestsSnapshot, access: CsrAccess) => T | Promise<T>,
): Promise<T> {
  const access = await openAccess(flags);
  try {
    return await use(await snapshotOf(access, policyOf(flags)), access);
  } finally {
    access.api.close();
  }
}

/** A request by its name, and the decision about it. Throws DB_CSR_REQUEST when there is none. */
export function decisionAbout(name: string, { requests, state }: RequestsSnapshot, despite?: ReadonlySet<string>) {
  const request = requests.find(({ metadata }) => metadata?.name === name);
  if (request === undefined) throw new DrawbridgeError("DB_CSR_REQUEST", `there is no request ${name}`);
  const decision = decide(request, state, despite);
  if (decision !== undefined) return { request, decision };
  const foreign = foreignRequestOf(request);
  const why =
    foreign === undefined
      ? `is ${outcomeOf(request)} already`
      : `is for the signer ${foreign.signer}, so ${foreign.decider} decides about it`;
  throw new DrawbridgeError("DB_CSR_REQUEST", `${requestName(request)} ${why}`);
}
