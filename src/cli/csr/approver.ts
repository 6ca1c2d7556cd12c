/** `drawbridge csr approver`: the approver, which runs until it gets a signal. */
import { runApprover } from "../../cluster/nodes/csr/approver.js";
import { requireInventory } from "../../cluster/nodes/csr/inventory.js";
import { APPROVER_NAME } from "../../cluster/nodes/permissions.js";
import { duration, yesNo } from "../flags/flag.js";
import { defineCommand } from "../framework/define.js";
import { healthFlags, healthOf } from "../framework/objects.js";
import { csrFlags, decisionLogFlag, INVENTORY_HELP, openAccess, policyOf } from "./shared.js";

export default defineCommand({
  purpose: `Watches a cluster and approves requests of kubelets that keep every rule: first certificates of machines the inventory
expects, serving certificates with a node's own names, renewals. Everything else stays pending and is explained in the
log; only forgeries are denied. Other signers' requests are not touched. Several replicas elect one that decides.

It needs, and nothing else: certificatesigningrequests get, list, watch; certificatesigningrequests/approval update; signers
approve for kubernetes.io/kube-apiserver-client-kubelet and kubernetes.io/kubelet-serving; nodes list, watch; services and
endpointslices get for those named kubernetes; in its namespace leases and configmaps create, and get, update for those
named ${APPROVER_NAME}; and, unless --inventory is given, configmaps list, workers list, watch and workers/status update.

${INVENTORY_HELP}`,
  examples: ["drawbridge csr approver --dry-run"],
  flags: {
    ...csrFlags,
    ...decisionLogFlag,
    ...healthFlags(),
    "dry-run": yesNo("Decide and log, and write nothing into the cluster."),
    interval: duration("10s", "How long to wait for a change before looking again.", { least: 100 }),
  },
  async run(flags) {
    const health = healthOf(flags);
    const { namespace, decisionLog, dryRun, interval: intervalMs } = flags;
    const policy = policyOf(flags);
    if (flags.inventory !== "") await requireInventory(flags.inventory);
    return runApprover({ ...(await openAccess(flags)), policy, namespace, decisionLog, dryRun, intervalMs, health });
  },
});
