/** The approver's /metrics. */
import { EventCounter, gaugeRead } from "../../../../base/metrics/families.js";
import { processMetrics } from "../../../../base/metrics/process-metrics.js";
import { MetricsRegistry } from "../../../../base/metrics/registry.js";
import type { Decision } from "../decide.js";
import type { Approver } from "./approver.js";

const PREFIX = "drawbridge_csr_";

export interface ApproverMetrics {
  readonly registry: MetricsRegistry;
  decided(decision: Decision): void;
  failed(): void;
}

export function approverMetrics(approver: () => Approver, leading: () => boolean): ApproverMetrics {
  const registry = new MetricsRegistry();
  const decisions = new EventCounter(
    registry,
    `${PREFIX}decisions_total`,
    "Decisions about requests, by the rule that was broken first (all: none was).",
    ["action", "kind", "rule"],
  );
  const failures = new EventCounter(registry, `${PREFIX}failures_total`, "Looks that failed, and lost connections.");
  gaugeRead(registry, `${PREFIX}pending`, "Undecided requests of kubelets that are younger than an hour.", () => {
    return approver().crowd.pending;
  });
  gaugeRead(registry, `${PREFIX}pending_limit`, "Above this many of them nothing is approved.", () => {
    return approver().crowd.limit;
  });
  gaugeRead(registry, `${PREFIX}leader`, "Whether this replica decides.", () => Number(leading()));
  processMetrics(registry);
  return {
    registry,
    decided: ({ action, kind, rule }) => decisions.inc({ action, kind, rule }),
    failed: () => failures.inc(),
  };
}
