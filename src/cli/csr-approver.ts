/** `drawbridge csr approver`: the process that decides, until it is told to end. */

import { approverName } from "../nodepool/csr/approver/permissions.js";
import { addDecisionLog, type CsrFlags, declareCsrFlags, inventoryHelp, openAccess, policyOf } from "./csr-flags.js";
import type { Flag, FlagSet } from "./flags/flag-set.js";
import { boolean, duration, integer, string } from "./flags/flag-value.js";
import { type GoDuration, parseGoDuration } from "./flags/go-duration.js";
import { refused, runPlainCommand } from "./plain-command.js";

const purpose = `Watches a cluster and approves requests of kubelets that keep every rule: first certificates of machines the inventory
expects, serving certificates with a node's own names, renewals. Everything else stays pending and is explained in the
log; only forgeries are denied. Other signers' requests are not touched. Several replicas elect one that decides.

It needs, and nothing else: certificatesigningrequests get, list, watch; certificatesigningrequests/approval update; signers
approve for kubernetes.io/kube-apiserver-client-kubelet and kubernetes.io/kubelet-serving; nodes list, watch; in its
namespace leases and configmaps create, and get, update for those named ${approverName}; configmaps list unless
--inventory is given.

${inventoryHelp}`;

interface ApproverFlags extends CsrFlags {
  readonly dryRun: Flag<boolean>;
  readonly decisionLog: Flag<string>;
  readonly interval: Flag<GoDuration>;
  readonly healthAddress: Flag<string>;
  readonly healthPort: Flag<number>;
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
    healthAddress: set.add(
      "health-bind-address",
      string,
      "",
      "Where /healthz, /readyz and /metrics are. If empty, everywhere.",
    ),
    healthPort: set.add("health-port", integer, 0, "Port of these. If 0, none is opened."),
  };
}

function check(flags: ApproverFlags, [word]: readonly string[]): void {
  if (word !== undefined) throw refused(`"${word}" belongs to no flag`);
  policyOf(flags);
  const { value: port } = flags.healthPort;
  if (port < 0 || port > 65_535) throw refused(`--health-port must be 0 to 65535, got ${port}`);
  if (intervalMs(flags) < 100) throw refused("--interval must be at least 100ms");
}

async function run(flags: ApproverFlags): Promise<number> {
  const { runApprover } = await import("../nodepool/csr/approver/run.js");
  const { healthAddress, healthPort } = flags;
  return runApprover({
    ...(await openAccess(flags)),
    policy: policyOf(flags),
    namespace: flags.namespace.value,
    decisionLog: flags.decisionLog.value,
    dryRun: flags.dryRun.value,
    intervalMs: intervalMs(flags),
    health: healthPort.value === 0 ? undefined : { host: healthAddress.value, port: healthPort.value },
  });
}

function intervalMs({ interval }: ApproverFlags): number {
  return Number(interval.value / 1_000_000n);
}
