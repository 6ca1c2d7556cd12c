/** What the csr commands have in common: whom they ask and what they expect. */
import { messageOf } from "../../base/errors/error.js";
import type { KubeApi } from "../../cluster/kube/port.js";
import { defaultPolicy, type Policy } from "../../cluster/nodes/csr/case.js";
import type { InventorySource } from "../../cluster/nodes/csr/inventory.js";
import type { MemoryStore } from "../../cluster/nodes/csr/memory.js";
import { Networks } from "../../cluster/nodes/csr/names.js";
import { APPROVER_NAME } from "../../cluster/nodes/permissions.js";
import type { Flag, FlagSet } from "../flags/flag-set.js";
import { boolean, integer, string, stringSlice } from "../flags/flag-value.js";
import { refused } from "../framework/plain-command.js";
import { openObjects } from "../nodepool/flags.js";

/** For --help: the one format, wherever the inventory is kept. */
export const INVENTORY_HELP = `The inventory says which machines are expected. It is every *.yaml, *.yml and *.json file of the directory given with
--inventory or, without that flag, every key of the ConfigMaps labelled drawbridge/inventory=true in --namespace:

  pool: clusters/workers         # namespace/name of the pool
  replicas: 3                    # most nodes; if missing, as many as there are workers
  workers:
  - name: worker-0               # the node's name
    dnsNames: [worker-0.example] # further names its serving certificate may have
    ips: [10.0.0.10]             # its addresses; if missing, the node's own within --node-cidr
    notBefore: "2031-01-02T03:04:05Z"
    deadline: "2031-01-02T05:04:05Z"  # for its first certificate; if missing, two hours later
    joined: false                # true: it is a node already and was let in by somebody else
  claims:                        # who fetched a configuration, for --require-claim
  - {worker: worker-0, at: "2031-01-02T03:10:00Z"}`;

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function declareCsrFlags(set: FlagSet) {
  const text = (name: string, usage: string, otherwise = "") => set.add(name, string, otherwise, usage);
  return {
    kubeconfig: text("kubeconfig", "Access to the cluster. If empty, KUBECONFIG, then the pod's service account."),
    directory: text("directory", "Directory of YAML objects to use instead of a cluster."),
    namespace: text("namespace", "Where the inventory's ConfigMaps, the lease and the memory are.", "drawbridge"),
    inventory: text("inventory", "Directory with the inventory. If empty, ConfigMaps."),
    ...declarePolicyFlags(set),
  };
}

/** What is approved, whoever decides. */
export function declarePolicyFlags(set: FlagSet) {
  const several = (name: string, usage: string, otherwise: readonly string[] = []) =>
    set.add(name, stringSlice, otherwise, usage);
  return {
    bootstrapUser: set.add("bootstrap-user", string, defaultPolicy.bootstrapUser, "Who files first requests."),
    bootstrapGroups: several("bootstrap-group", "All groups of that user.", defaultPolicy.bootstrapGroups),
    nodeCidr: several("node-cidr", "Network in which nodes may have addresses that the inventory does not list."),
    foreignCidr: several("foreign-cidr", "Network of services, pods or the control plane: never a node's address."),
    reservedName: several("reserved-name", "Name of the control plane that no node may have."),
    requireClaim: set.add("require-claim", boolean, false, "Approve only machines seen fetching their configuration."),
    surge: set.add("surge", integer, defaultPolicy.surge, "Nodes that a pool may have beyond its replicas."),
    poolRate: set.add("pool-rate", integer, defaultPolicy.poolRate, "Approvals in a minute and pool."),
    denyForgery: set.add("deny-forgery", boolean, true, "Deny what no kubelet would ask; otherwise it stays pending."),
  };
}

export type CsrFlags = ReturnType<typeof declareCsrFlags>;
export type PolicyFlags = ReturnType<typeof declarePolicyFlags>;

export const addDecisionLog = (set: FlagSet): Flag<string> =>
  set.add("decision-log", string, "", "File to which every decision is appended as a line of JSON.");

/** Throws what runRole takes for misuse. */
export function checkCsrFlags(flags: CsrFlags): void {
  if (flags.namespace.value === "") throw refused("--namespace must not be empty");
  if (flags.directory.value !== "" && flags.kubeconfig.value !== "") {
    throw refused("--directory and --kubeconfig exclude each other: objects are in one place");
  }
  policyOf(flags);
}

export function policyOf(flags: PolicyFlags): Policy {
  for (const flag of [flags.surge, flags.poolRate]) {
    if (flag.value < 0) throw refused(`--${flag.name} must not be negative, got ${flag.value}`);
  }
  if (flags.bootstrapUser.value === "") throw refused("--bootstrap-user must not be empty");
  return {
    bootstrapUser: flags.bootstrapUser.value,
    bootstrapGroups: flags.bootstrapGroups.value,
    nodeNetworks: networksOf(flags.nodeCidr),
    foreignNetworks: networksOf(flags.foreignCidr),
    reservedNames: flags.reservedName.value,
    needsClaim: flags.requireClaim.value,
    surge: flags.surge.value,
    poolRate: flags.poolRate.value,
    deniesForgery: flags.denyForgery.value,
  };
}

function networksOf(flag: Flag<readonly string[]>): Networks {
  try {
    return new Networks(flag.value);
  } catch (reason) {
    throw refused(`--${flag.name}: ${messageOf(reason)}`);
  }
}

export interface CsrAccess {
  readonly api: KubeApi;
  readonly inventory: InventorySource;
  readonly store: MemoryStore;
}

/** `namespace`: the approver's. */
export async function openAccess(flags: CsrFlags, namespace = flags.namespace.value): Promise<CsrAccess> {
  const [sources, { MemoryStore }] = await Promise.all([
    import("../../cluster/nodes/csr/inventory.js"),
    import("../../cluster/nodes/csr/memory.js"),
  ]);
  const api = await openObjects(flags);
  const inventory =
    flags.inventory.value === ""
      ? sources.configMapInventory(api, namespace)
      : sources.directoryInventory(flags.inventory.value);
  return { api, inventory, store: new MemoryStore(api, { namespace, name: APPROVER_NAME }) };
}

/** What a command that looks once sees. */
export async function lookOnce(flags: CsrFlags, { api, inventory, store }: CsrAccess) {
  const { lookAround } = await import("../../cluster/nodes/csr/approver/act.js");
  const memory = await store.load();
  return lookAround({ api, inventory, memory, policy: policyOf(flags), now: Date.now() });
}
