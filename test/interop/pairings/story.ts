import { afterAll, beforeAll, describe } from "vitest";
import { startTunnel, type Tunnel } from "../../support/processes/tunnel.js";
import { bulk } from "./chapters/bulk.js";
import { crowd } from "./chapters/crowd.js";
import { ends } from "./chapters/ends.js";
import { failures } from "./chapters/failures.js";
import { greeting } from "./chapters/greeting.js";
import { leftovers } from "./chapters/leftovers.js";
import { refusals } from "./chapters/refusals.js";
import { stalled } from "./chapters/stalled.js";
import { strangers } from "./chapters/strangers.js";
import { webhook } from "./chapters/webhook.js";
import { type Pairing, type PairingFixture, titleOf } from "./pairing.js";

/** The same story for every pairing, told by real processes; the chapters that break things come last. */
export function tellStory(pairing: Pairing): void {
  describe(titleOf(pairing), () => {
    let tunnel: Tunnel | undefined;
    const fixture: PairingFixture = {
      pairing,
      tunnel: () => {
        if (!tunnel) throw new Error("the tunnel did not start");
        return tunnel;
      },
    };

    beforeAll(async () => {
      tunnel = await startTunnel(pairing);
    }, 60_000);
    afterAll(() => tunnel?.close(), 60_000);

    greeting(fixture);
    webhook(fixture);
    strangers(fixture);
    bulk(fixture);
    ends(fixture);
    refusals(fixture);
    crowd(fixture);
    stalled(fixture);
    leftovers(fixture);
    failures(fixture);
  });
}
