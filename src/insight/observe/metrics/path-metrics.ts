/** What the watchdog finds out, for those that have one. Ours alone: its probes are in none of upstream's families. */

import type { EventMetrics } from "../../../base/metrics/process-metrics.js";
import type { Sample } from "../../../base/metrics/registry.js";
import { serverLinkRecycled, serverPathChecked } from "../../../tunnel/events/channels.js";

const PREFIX = "drawbridge_server_";
/** In seconds. */
const ROUND_TRIP_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];
const STATES = ["ok", "failing", "unknown"] as const;

/** `paths` gives the state of every agent's path. */
export function pathMetrics(metrics: EventMetrics, paths: () => Iterable<string>): void {
  const { registry } = metrics;
  registry.gauge(
    `${PREFIX}agent_paths`,
    "Agents by what the watchdog last saw of their path; unknown are those without an echo, or not asked yet.",
    () => {
      const states = [...paths()];
      return STATES.map((state): Sample => [{ state }, states.filter((each) => each === state).length]);
    },
  );
  const checks = registry.counter(`${PREFIX}path_checks_total`, "Questions to agents' echoes, by result.", ["result"]);
  for (const result of ["ok", "failed"]) checks.inc({ result }, 0);
  const roundTrips = registry.histogram(
    `${PREFIX}path_round_trip_seconds`,
    "From the dial of an agent's echo to the last byte back.",
    ROUND_TRIP_BUCKETS,
  );
  const recycled = registry.counter(
    `${PREFIX}links_recycled_total`,
    "Links ended by the watchdog because nothing moved on them any more.",
  );
  metrics.on(serverPathChecked, ({ roundTripMs }) => {
    checks.inc({ result: roundTripMs === undefined ? "failed" : "ok" });
    if (roundTripMs !== undefined) roundTrips.observe(roundTripMs / 1000);
  });
  metrics.on(serverLinkRecycled, () => recycled.inc());
}
