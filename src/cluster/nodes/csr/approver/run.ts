/** The approver as a process, with its metrics. */
import type { Endpoint } from "../../../../base/http.js";
import { processMetrics } from "../../../../base/metrics/process-metrics.js";
import { MetricsRegistry } from "../../../../base/metrics/registry.js";
import { APPROVER_NAME } from "../../permissions.js";
import { Replica } from "../../replica.js";
import { type Decision, noDecisionLog, openDecisionLog } from "../decide.js";
import { Approver, type ApproverOptions } from "./approver.js";

interface ApproverConfig
  extends Pick<ApproverOptions, "api" | "policy" | "inventory" | "store" | "dryRun" | "intervalMs"> {
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
  const log = config.decisionLog === "" ? undefined : openDecisionLog(config.decisionLog);
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
    ...{ ...config, log: log ?? noDecisionLog, leading, onError },
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
      log?.close();
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
