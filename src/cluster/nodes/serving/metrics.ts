/** The Ignition server's /metrics, with HyperShift's names. */

import { DurationHistogram } from "../../../base/metrics/histogram.js";
import { processMetrics } from "../../../base/metrics/process-metrics.js";
import { EventCounter, gaugeRead, MetricsRegistry } from "../../../base/metrics/registry.js";

const PREFIX = "ign_server_";

export function servingMetrics(tokens: () => number) {
  const registry = new MetricsRegistry();
  const served = new EventCounter(registry, `${PREFIX}get_request`, "Payloads that machines got, by pool.", [
    "nodePool",
  ]);
  const rotations = new EventCounter(registry, `${PREFIX}token_rotation_total`, "Tokens that were rotated here.");
  const misses = new EventCounter(
    registry,
    `${PREFIX}payload_cache_miss_total`,
    "Times a payload had to be made because none was in memory.",
  );
  const generation = new DurationHistogram(registry, {
    name: `${PREFIX}payload_generation_seconds`,
    help: "How long it took to make a payload.",
    buckets: [5, 15, 30, 45, 60],
  });
  gaugeRead(registry, `${PREFIX}payload_cache_total`, "Tokens that open a payload.", tokens);
  const failures = new EventCounter(registry, "drawbridge_ignition_failures_total", "Warnings that were logged.");
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
