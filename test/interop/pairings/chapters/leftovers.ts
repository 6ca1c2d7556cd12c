import { expect, test } from "vitest";
import { waitUntil } from "../../../support/processes/deadline.js";
import { metric } from "../../../support/processes/http.js";
import type { PairingFixture } from "../pairing.js";

const OPEN_ENDPOINTS = "konnectivity_network_proxy_agent_open_endpoint_connections";
const DIALS = "konnectivity_network_proxy_agent_dial_duration_seconds_count";

export function leftovers({ tunnel }: PairingFixture): void {
  test("has no endpoint connection left once its callers are gone", async () => {
    for (const agent of tunnel().agents) {
      expect(await metric(agent.healthPort, DIALS)).toBeGreaterThan(100);
      await waitUntil("all endpoint connections to be closed", async () => {
        return (await metric(agent.healthPort, OPEN_ENDPOINTS)) === 0;
      });
    }
  });
}
