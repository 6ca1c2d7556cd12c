/** The controller's /metrics. */
import { EventCounter, gaugeRead } from "../../../base/metrics/families.js";
import { processMetrics } from "../../../base/metrics/process-metrics.js";
import { MetricsRegistry } from "../../../base/metrics/registry.js";
import type { PoolController } from "./controller.js";
import type { Outcome } from "./work-queue.js";

const PREFIX = "drawbridge_nodepool_";

export interface ControllerMetrics {
  readonly registry: MetricsRegistry;
  passed(outcome: Outcome["next"]): void;
  failed(): void;
}

export function controllerMetrics(controller: () => PoolController, leading: () => boolean): ControllerMetrics {
  const registry = new MetricsRegistry();
  const passes = new EventCounter(
    registry,
    `${PREFIX}passes_total`,
    "Passes over pools, by what follows: wait for a change, a time to look again (at), or retry after a failure.",
    ["next"],
  );
  const failures = new EventCounter(
    registry,
    `${PREFIX}failures_total`,
    "Complaints about pools, and lost connections.",
  );
  gaugeRead(registry, `${PREFIX}pools`, "Pools in the namespace.", () => controller().view.pools.size);
  gaugeRead(registry, `${PREFIX}queue_length`, "Pools that wait for a pass.", () => controller().queued);
  gaugeRead(registry, `${PREFIX}leader`, "Whether this replica writes.", () => Number(leading()));
  processMetrics(registry);
  return { registry, passed: (next) => passes.inc({ next }), failed: () => failures.inc() };
}
