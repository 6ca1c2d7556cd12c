import { expect, test } from "vitest";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { Budget } from "../connection/budget.js";
import { agentDialEnded, agentTunnelClosed, tunnelCut } from "../events/channels.js";
import { PacketMeter, SegmentCounters } from "../link/packet-meter.js";
import type { PacketStream } from "../link/packet-stream.js";
import { Resolver } from "../resolver/resolver.js";
import { ECHO_ADDRESS, ECHO_HOST } from "../wire/destination.js";
import type { ConnectId, ControlPacket } from "../wire/packet.js";
import { EchoPort } from "./echo.js";
import { DestinationPolicy } from "./policy.js";
import { ServerLink } from "./server-link.js";

function linkTo(echo: boolean) {
  const packets: ControlPacket[] = [];
  const data: [ConnectId, string][] = [];
  const events: string[] = [];
  const [received, sent] = [new SegmentCounters(), new SegmentCounters()];
  let ids = 0;
  const stream = {
    ...{ congested: false, queuedBytes: 0, extended: true },
    received: new PacketMeter(received, "received"),
    sent: new PacketMeter(sent, "sent"),
    data(connectId: ConnectId, bytes: Uint8Array) {
      stream.sent.data(connectId, bytes.length);
      data.push([connectId, String(bytes)]);
      return true;
    },
    leaveUncounted(connectId: ConnectId) {
      stream.sent.uncounted = connectId;
      stream.received.uncounted = connectId;
    },
    control(packet: ControlPacket) {
      stream.sent.control(packet);
      packets.push(packet);
    },
  };
  agentDialEnded.subscribe(({ outcome }) => events.push(outcome), stream);
  agentTunnelClosed.subscribe(() => events.push("finished"), stream);
  tunnelCut.subscribe(() => events.push("cut"), stream);
  const link = new ServerLink({
    ...{ source: stream, number: 1, serverId: "s", address: "a:1", echo, nextConnectId: () => ++ids },
    ...{ budget: new Budget(), runtime: new ManualClock(), policy: new DestinationPolicy([], []) },
    resolver: new Resolver(),
    onClosed() {},
    openStream: () => stream as unknown as PacketStream,
  });
  /** As a real stream hands packets over: counted first. */
  const receive = (packet: ControlPacket) => {
    stream.received.control(packet);
    link.onControl(packet);
  };
  const receiveData = (connectId: ConnectId, text: string) => {
    stream.received.data(connectId, text.length);
    link.onData(connectId, Buffer.from(text));
    link.onSettle();
  };
  return { link, packets, data, events, receive, receiveData, counted: () => [...received.packets, ...sent.packets] };
}

const dial = (random: bigint) => ({ type: "DIAL_REQ", protocol: "tcp", address: ECHO_ADDRESS, random }) as const;

test("the echo sends back what it gets, and is nobody's tunnel, dial or packet", () => {
  const { link, packets, data, events, receive, receiveData, counted } = linkTo(true);
  receive(dial(5n));
  expect(packets.splice(0)).toEqual([{ type: "DIAL_RSP", error: "", connectId: 1, random: 5n }]);
  receiveData(1, "there and");
  receiveData(1, " back");
  expect(data.map(([, text]) => text).join("")).toBe("there and back");
  expect([link.idle, link.tunnels.size, link.pendingDials]).toEqual([true, 0, 0]);
  receive({ type: "CLOSE_REQ", connectId: 1 });
  expect(packets.splice(0)).toEqual([{ type: "CLOSE_RSP", connectId: 1, error: "" }]);
  expect(events).toEqual([]);
  expect(counted().every((count) => count === 0)).toBe(true);
});

test("the echo has at most four connections", () => {
  const { packets, receive } = linkTo(true);
  for (let random = 1n; random <= 5n; random++) receive(dial(random));
  expect(packets.map((packet) => packet.type === "DIAL_RSP" && packet.error)).toEqual([
    ...["", "", "", "", "too many connections to the echo"],
  ]);
});

test("the echo is not there for a server that did not agree on it, and no resolver is asked for its name", async () => {
  const { packets, events, receive } = linkTo(false);
  receive(dial(5n));
  await expect.poll(() => packets.length).toBe(1);
  expect(packets).toEqual([
    { type: "DIAL_RSP", error: `dial tcp: lookup ${ECHO_HOST}: no such host`, connectId: 0, random: 5n },
  ]);
  expect(events).toEqual(["failed"]);
});

test("the echo holds back what the link does not take, and passes an end on behind it", () => {
  const port = new EchoPort();
  const told: string[] = [];
  port.attach({
    onNearData: (chunk) => {
      told.push(String(chunk));
      port.pause();
    },
    onNearEnd: () => told.push("end"),
    onNearClosed: () => told.push("closed"),
    onNearLost: () => told.push("lost"),
    onNearDrained: () => told.push("drained"),
  });
  port.write(Buffer.from("one"));
  port.flush();
  port.write(Buffer.from("two"));
  port.flush();
  port.end();
  expect([told, port.queuedBytes]).toEqual([["one"], 3]);
  port.resume();
  expect([told, port.queuedBytes]).toEqual([["one", "two", "end", "drained"], 0]);
});
