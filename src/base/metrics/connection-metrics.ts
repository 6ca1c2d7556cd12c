/** The connections that the process's listeners hold, in every role. */
import { type Connections, processConnections } from "../connections.js";
import { countersRead, gaugesRead } from "./families.js";
import type { MetricsRegistry, Sample } from "./registry.js";

export function connectionMetrics(registry: MetricsRegistry, connections: Connections = processConnections): void {
  gaugesRead(registry, "drawbridge_connections_open", "Connections that a listener accepted and that are open.", () =>
    connections.readings().map(({ name, open }): Sample => [{ listener: name }, open]),
  );
  gaugesRead(
    registry,
    "drawbridge_connections_pending",
    "Open connections whose peer is not known yet, or has not asked for anything.",
    () => connections.readings().map(({ name, pending }): Sample => [{ listener: name }, pending]),
  );
  countersRead(
    registry,
    "drawbridge_connections_closed_total",
    "Connections that were closed because their peer was late, or because there were too many.",
    function* (): Iterable<Sample> {
      for (const { name, closed } of connections.readings()) {
        for (const [reason, count] of Object.entries(closed)) yield [{ listener: name, reason }, count];
      }
    },
  );
}
