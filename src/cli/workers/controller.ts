/** `drawbridge workers controller`: keeps the machines of pools, and runs until it gets a signal. */
import { join } from "node:path";
import { defaultPolicy } from "../../cluster/nodes/csr/request-context.js";
import { runMachineController } from "../../cluster/nodes/machine-controller/run.js";
import { machineControllerClusterRules, machineControllerRules, rightsText } from "../../cluster/nodes/permissions.js";
import { MACHINES_ANNOTATION } from "../../cluster/nodes/pool/node-pool.js";
import { WorkerStore } from "../../cluster/nodes/workers/store.js";
import { duration, text } from "../flags/flag.js";
import { refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { healthFlags, healthOf } from "../framework/objects.js";
import { changeFlags, drainingFlags } from "./change.js";
import {
  approverNamespaceOf,
  makingFlags,
  makingOf,
  PROVIDERS_HELP,
  withPool,
  withWorkersClusters,
  workersFlags,
} from "./shared.js";

const {
  count: _count,
  "dns-names": _dnsNames,
  ips: _ips,
  "name-prefix": _namePrefix,
  names: _names,
  pool: _pool,
  reinstall: _reinstall,
  ...machineFlags
} = makingFlags;

export default defineCommand({
  purpose: `Keeps the machines of every pool that names --provider in its annotation ${MACHINES_ANNOTATION}: as many workers as
spec.replicas, new machines in the place of workers that are behind (upgradeType Replace, by rollingUpdate), and of nodes
that are not healthy (autoRepair). It runs where the provider's tool and credentials are; the pool decides how many machines there
are, and these flags alone how they are made. Pools without the annotation, and pools that another controller scales, are left
alone. Several replicas elect one that works. An approver has to run (drawbridge csr approver).

It removes nothing while fewer nodes are Ready than the pool's rule wants, while a machine cannot be made, when far fewer
workers or nodes are listed than before, and after a removal that failed: the pool's condition MachineRemovalAllowed says why,
and how to let it go on.

It needs in the namespace of pools and Workers: ${rightsText(machineControllerRules)}; and in the cluster that machines
join: ${rightsText(machineControllerClusterRules)}.

${PROVIDERS_HELP}`,
  examples: [
    "drawbridge workers controller --provider command --create-command 'make-vm {name} {userdata}' --delete-command 'drop-vm {name}'",
  ],
  flags: {
    ...workersFlags,
    "approved-elsewhere": changeFlags["approved-elsewhere"],
    ...machineFlags,
    force: drainingFlags.force,
    "delete-emptydir-data": drainingFlags["delete-emptydir-data"],
    cluster: text("Name of the pools' cluster. If empty, all pools that name the provider are of one."),
    interval: duration("10s", "How long to wait for a change before looking again.", { least: 100 }),
    ...healthFlags(),
  },
  async run(flags) {
    const { cluster, deleteEmptydirData, force, interval: intervalMs, namespace, provider } = flags;
    const one = { count: 1, dnsNames: [], ips: [], names: [], namePrefix: "", reinstall: false };
    const machines = (name: string) => makingOf({ ...flags, ...one, pool: name });
    if (machines("any").template.provider === "none") throw refused("--provider none makes no machines: name another");
    if (provider === "command" && flags.deleteCommand.length === 0) throw refused("--delete-command is missing");
    const by = flags.approvedElsewhere ? "anybody" : "a running approver";
    const leaseNamespace = approverNamespaceOf(flags);
    return withWorkersClusters(flags, (clusters) =>
      runMachineController({
        ...{ clusters, namespace, leaseNamespace, cluster, provider, intervalMs, health: healthOf(flags) },
        machines: ({ name }) => machines(name),
        reader: ({ name }) =>
          new WorkerStore({ api: clusters.nodes, namespace: leaseNamespace, directory: join(flags.state, name) }),
        // Each pool has a directory of its own: one command at a time works in it.
        withPool: (pool, use) => withPool({ ...flags, state: join(flags.state, pool.name) }, clusters, pool, use),
        approval: { by, namespace: leaseNamespace, policy: defaultPolicy },
        rules: { force, deleteEmptyDirData: deleteEmptydirData },
        joinWithinMs: flags.window,
      }),
    );
  },
});
