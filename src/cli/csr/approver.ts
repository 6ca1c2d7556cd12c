/** `drawbridge csr approver`: the process that decides, until it is told to end. */

import { APPROVER_NAME } from "../../cluster/nodes/permissions.js";
import type { Flag, FlagSet } from "../flags/flag-set.js";
import { boolean, duration } from "../flags/flag-value.js";
import { type GoDuration, parseGoDuration, toMilliseconds } from "../flags/go-duration.js";
import { refused, runPlainCommand } from "../framework/plain-command.js";
import { noWords } from "../nodepool/flags.js";
import { checkHealth, declareHealth, type HealthFlags, healthOf } from "../tunnel/health-flags.js";
import {
  addDecisionLog,
  type CsrFlags,
  checkCsrFlags,
  declareCsrFlags,
  INVENTORY_HELP,
  openAccess,
  policyOf,
} from "./flags.js";

const purpose = `Watches a cluster and approves requests of kubelets that keep every rule: first certificates of machines the inventory
expects, serving certificates with a node's own names, renewals. Everything else stays pending and is explained in the
log; only forgeries are denied. Other signers' requests are not touched. Several replicas elect one that decides.

It needs, and nothing else: certificatesigningrequests get, list, watch; certificatesigningrequests/approval update; signers
approve for kubernetes.io/kube-apiserver-client-kubelet and kubernetes.io/kubelet-serving; nodes list, watch; services and
endpointslices get for those named kubernetes; in its namespace leases and configmaps create, and get, update for those
named ${APPROVER_NAME}; configmaps list unless --inventory is given.

${INVENTORY_HELP}`;

interface ApproverFlags extends CsrFlags, HealthFlags {
  readonly dryRun: Flag<boolean>;
  readonly decisionLog: Flag<string>;
  readonly interval: Flag<GoDuration>;
}

export function csrApprover(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, { purpose, declare, check, run });
}

function declare(set: FlagSet): ApproverFlags {
  return {
    ...declareCsrFlags(set),
    dryRun: set.add("dry-run", boolean, false, "Decide and log, and write nothing into the cluster."),
    decisionLog: addDecisionLog(set),
    interval: set.add(
      "interval",
      duration,
      parseGoDuration("10s"),
      "How long to wait for a change before looking again.",
    ),
    ...declareHealth(set),
  };
}

function check(flags: ApproverFlags, words: readonly string[]): void {
  noWords(words);
  checkCsrFlags(flags);
  checkHealth(flags);
  if (toMilliseconds(flags.interval.value) < 100) throw refused("--interval must be at least 100ms");
}

async function run(flags: ApproverFlags): Promise<number> {
  const { runApprover } = await import("../../cluster/nodes/csr/approver/run.js");
  return runApprover({
    ...(await openAccess(flags)),
    policy: policyOf(flags),
    namespace: flags.namespace.value,
    decisionLog: flags.decisionLog.value,
    dryRun: flags.dryRun.value,
    intervalMs: toMilliseconds(flags.interval.value),
    health: healthOf(flags),
  });
}
