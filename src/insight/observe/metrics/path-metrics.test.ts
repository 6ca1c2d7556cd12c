import { expect, test } from "vitest";
import { EventMetrics } from "../../../base/metrics/process-metrics.js";
import { serverLinkRecycled, serverPathChecked } from "../../../tunnel/events/channels.js";
import { pathMetrics } from "./path-metrics.js";

test("paths are counted by state, checks by result, round trips by bucket, and links that were ended", () => {
  const source = {};
  const metrics = new EventMetrics(source);
  pathMetrics(metrics, () => ["ok", "unknown", "ok"]);
  const about = { source, agentId: "a", stream: 1 };
  serverPathChecked.publish({ ...about, failures: 0, failuresBefore: 0, roundTripMs: 4 });
  serverPathChecked.publish({ ...about, failures: 1, failuresBefore: 0, error: "silence" });
  serverPathChecked.publish({ ...about, source: {}, failures: 1, failuresBefore: 0, error: "another server's" });
  serverLinkRecycled.publish({ ...about, failures: 3, error: "silence" });
  metrics.end();
  serverLinkRecycled.publish({ ...about, failures: 3, error: "after the end" });
  const lines = metrics.registry.text().split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      'drawbridge_server_agent_paths{state="ok"} 2',
      'drawbridge_server_agent_paths{state="failing"} 0',
      'drawbridge_server_agent_paths{state="unknown"} 1',
      'drawbridge_server_path_checks_total{result="ok"} 1',
      'drawbridge_server_path_checks_total{result="failed"} 1',
      "drawbridge_server_links_recycled_total 1",
      'drawbridge_server_path_round_trip_seconds_bucket{le="0.005"} 1',
      "drawbridge_server_path_round_trip_seconds_count 1",
    ]),
  );
});
