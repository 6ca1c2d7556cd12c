import { expect, test } from "vitest";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { Budget, DEFAULT_LIMITS } from "../connection/budget.js";
import { agentDialEnded } from "../events/channels.js";
import type { PacketStream } from "../link/packet-stream.js";
import type { Resolver } from "../resolver/resolver.js";
import { faultOf } from "../wire/dial-error.js";
import type { ControlPacket } from "../wire/packet.js";
import { DestinationPolicy } from "./policy.js";
import { MAX_PENDING_DIALS, ServerLink } from "./server-link.js";

test("a server that asks for dials without end gets so many at once, and is told of the rest", () => {
  const answers: ControlPacket[] = [];
  let connectIds = 0;
  let ended = 0;
  const source = {};
  agentDialEnded.subscribe(() => ended++, source);
  const link = new ServerLink({
    ...{ source, number: 1, serverId: "s", address: "a:1" },
    budget: new Budget(DEFAULT_LIMITS),
    runtime: new ManualClock(),
    policy: new DestinationPolicy([], []),
    // Lookups that nobody answers.
    resolver: { lookup: () => () => {} } as unknown as Resolver,
    nextConnectId: () => ++connectIds,
    onClosed() {},
    openStream: () =>
      ({ control: (packet: ControlPacket) => answers.push(packet), closed: false }) as unknown as PacketStream,
  });
  const dial = (address: string, random: bigint) =>
    link.onControl({ type: "DIAL_REQ", protocol: "tcp", address, random });
  for (let count = 0; count < MAX_PENDING_DIALS; count++) dial(`name-${count}.example:80`, BigInt(count));
  expect([link.pendingDials, answers.length]).toEqual([MAX_PENDING_DIALS, 0]);
  for (let count = 0; count < 10_000; count++) dial("one-more.example:80", BigInt(MAX_PENDING_DIALS + count));
  expect([link.pendingDials, answers.length, ended]).toEqual([MAX_PENDING_DIALS, 10_000, 10_000]);
  const { error } = answers[0] as Extract<ControlPacket, { type: "DIAL_RSP" }>;
  // The server tries another agent then.
  expect([error, faultOf(error)]).toEqual(["dial tcp: too many dials are pending at this agent", "agent"]);
  link.onControl({ type: "DIAL_CLS", random: 0n });
  dial("again.example:80", 1n);
  dial(`${"x".repeat(4_000_000)}:80`, 99_999n);
  expect(answers.slice(-2)).toMatchObject([
    { error: "dial tcp: another dial that is pending has the same ID" },
    { error: "dial tcp: the address is longer than 300 characters" },
  ]);
});
