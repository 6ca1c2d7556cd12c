/** The Ignition server's /metrics, with HyperShift's names. */

import { processMetrics } from "../../../base/metrics/process-metrics.js";
import { MetricsRegistry } from "../../../base/metrics/registry.js";

const PREFIX = "ign_server_";

export function servingMetrics(tokens: () => number) {
  const registry = new MetricsRegistry();
  const served = registry.counter(`${PREFIX}get_request`, "Payloads that machines got, by pool.", ["nodePool"]);
  const rotations = registry.counter(`${PREFIX}token_rotation_total`, "Tokens that were rotated here.");
  const misses = registry.counter(
    `${PREFIX}payload_cache_miss_total`,
    "Times a payload had to be made because none was in memory.",
  );
  const generation = registry.histogram(
    `${PREFIX}payload_generation_seconds`,
    "How long it took to make a payload.",
    [5, 15, 30, 45, 60],
  );
  registry.gauge(`${PREFIX}payload_cache_total`, "Tokens that open a payload.", tokens);
  const failures = registry.counter("drawbridge_ignition_failures_total", "Warnings that were logged.");
  processMetrics(registry);
  return {
    registry,
    served: (nodePool: string) => served.inc({ nodePool }),
    rotated: () => rotations.inc(),
    missed: () => misses.inc(),
    generated: (seconds: number) => generation.observe(seconds),
    failed: () => failures.inc(),
  };
}
