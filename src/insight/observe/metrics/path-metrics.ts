/** What the watchdog finds out, for those that have one. Ours alone: its probes are in none of upstream's families. */

import { DurationHistogram } from "../../../base/metrics/histogram.js";
import { EventCounter, gaugesRead, type MetricsRegistry, type Sample } from "../../../base/metrics/registry.js";
import { serverLinkRecycled, serverPathChecked } from "../../../tunnel/events/channels.js";

const PREFIX = "drawbridge_server_";
/** In seconds. */
const ROUND_TRIP_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];
const STATES = ["ok", "failing", "unknown"] as const;

/** `paths` gives the state of every agent's. Answers what ends the subscriptions. */
export function pathMetrics(registry: MetricsRegistry, source: object, paths: () => Iterable<string>): (() => void)[] {
  gaugesRead(
    registry,
    `${PREFIX}agent_paths`,
    "Agents by what the watchdog last saw of their path; unknown are those without an echo, or not asked yet.",
    function* (): Iterable<Sample> {
      const states = [...paths()];
      for (const state of STATES) yield [{ state }, states.filter((each) => each === state).length];
    },
  );
  const checks = new EventCounter(registry, `${PREFIX}path_checks_total`, "Questions to agents' echoes, by result.", [
    "result",
  ]);
  for (const result of ["ok", "failed"]) checks.inc({ result }, 0);
  const roundTrips = new DurationHistogram(registry, {
    name: `${PREFIX}path_round_trip_seconds`,
    help: "From the dial of an agent's echo to the last byte back.",
    buckets: ROUND_TRIP_BUCKETS,
  });
  const recycled = new EventCounter(
    registry,
    `${PREFIX}links_recycled_total`,
    "Links ended by the watchdog because nothing moved on them any more.",
  );
  return [
    serverPathChecked.subscribe(({ roundTripMs }) => {
      checks.inc({ result: roundTripMs === undefined ? "failed" : "ok" });
      if (roundTripMs !== undefined) roundTrips.observe(roundTripMs / 1000);
    }, source),
    serverLinkRecycled.subscribe(() => recycled.inc(), source),
  ];
}
