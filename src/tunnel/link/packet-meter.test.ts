import { expect, test } from "vitest";
import { PACKET_INDEX, PACKET_NAMES } from "../wire/packet.js";
import { PacketMeter, SegmentCounters } from "./packet-meter.js";

test("a packet meter counts every packet but those of the one connection that is nobody's traffic; an observer sees all", () => {
  const counters = new SegmentCounters();
  const seen: unknown[] = [];
  const meter = new PacketMeter(counters, "sent", {
    turn: () => {},
    see: (direction, index, connectId, bytes) => seen.push([direction, PACKET_NAMES[index], connectId, bytes]),
    seeDial: (direction, index, connectId, dialId) => seen.push([direction, PACKET_NAMES[index], connectId, dialId]),
  });
  meter.uncounted = 7;
  meter.data(7, 16);
  meter.data(8, 100);
  meter.control({ type: "CLOSE_REQ", connectId: 7 });
  meter.control({ type: "CLOSE_REQ", connectId: 8 });
  meter.control({ type: "DRAIN" });
  meter.control({ type: "CREDIT", connectId: 8, bytes: 50 });
  meter.control({ type: "DIAL_REQ", protocol: "tcp", address: "a:1", random: 5n });
  meter.control({ type: "DIAL_RSP", error: "", connectId: 7, random: 6n });
  meter.control({ type: "DIAL_CLS", random: 9n });
  const counted = Object.entries(PACKET_INDEX).filter(([, index]) => counters.packets[index]! > 0);
  expect(counted.map(([name, index]) => [name, counters.packets[index]])).toEqual([
    ["DIAL_REQ", 1],
    ["CLOSE_REQ", 1],
    ["DATA", 1],
    ["DIAL_CLS", 1],
    ["DRAIN", 1],
    ["CREDIT", 1],
  ]);
  expect(counters.payloadBytes).toBe(100);
  expect(seen).toEqual([
    ["sent", "DATA", 7, 16],
    ["sent", "DATA", 8, 100],
    ["sent", "CLOSE_REQ", 7, 0],
    ["sent", "CLOSE_REQ", 8, 0],
    ["sent", "DRAIN", 0, 0],
    ["sent", "CREDIT", 8, 50],
    ["sent", "DIAL_REQ", 0, 5n],
    ["sent", "DIAL_RSP", 7, 6n],
    ["sent", "DIAL_CLS", 0, 9n],
  ]);
});
