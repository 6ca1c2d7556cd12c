import { expect, test } from "vitest";
import type { PacketStream } from "../link/packet-stream.js";
import { Resolver } from "../resolver/resolver.js";
import { Budget, DEFAULT_LIMITS } from "../tunnel/budget.js";
import { ManualClock } from "../tunnel/testing/manual-clock.js";
import { DestinationPolicy } from "./policy.js";
import { ServerLink } from "./server-link.js";

test("a link without tunnels is idle, but not done while its last bytes wait for the transport", () => {
  const link = new ServerLink({
    number: 1,
    serverId: "s",
    address: "a:1",
    extended: true,
    budget: new Budget(DEFAULT_LIMITS),
    clock: new ManualClock(),
    policy: new DestinationPolicy([], []),
    resolver: new Resolver(),
    nextConnectId: () => 1,
    events: { onDialEnded() {}, onTunnelFinished() {}, onTunnelCut() {}, onClosed() {} },
  });
  const stream = { queuedBytes: 5 };
  link.attach(stream as PacketStream);
  expect([link.idle, link.flushing]).toEqual([true, true]);
  stream.queuedBytes = 0;
  expect(link.flushing).toBe(false);
});
