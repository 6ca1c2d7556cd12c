import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { systemRuntime } from "../../base/runtime.js";
import { encodePacket } from "../wire/encode.js";
import type { ConnectId, ControlPacket } from "../wire/packet.js";
import { PacketReader } from "../wire/packet-reader.js";
import { FRAME_HEADER_BYTES, MAX_FRAME_BYTES } from "./h2/frames.js";
import { Outbox } from "./outbox.js";
import { PacketMeter, SegmentCounters } from "./packet-meter.js";
import { HIGH_WATER_BYTES, LOW_WATER_BYTES, MAX_CONTROL_BYTES, MAX_DATA_BYTES, STAGING_BYTES } from "./tuning.js";

type Done = (error?: Error | null) => void;

/** A transport that copies what it was handed only when it says "taken": a buffer reused too early shows in the copy. */
class SlowTransport {
  readonly inFlight: { bytes: Buffer; done: Done }[] = [];
  readonly taken: Buffer[] = [];
  mostInFlight = 0;

  readonly id = 1;
  readonly session = { frameBytes: MAX_FRAME_BYTES, runtime: systemRuntime };

  readonly write = (bytes: Buffer, done: Done): void => {
    this.inFlight.push({ bytes, done });
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight.length);
  };

  take(error?: Error): void {
    const next = this.inFlight.shift();
    if (next === undefined) return;
    this.taken.push(payloadOf(next.bytes));
    next.done(error ?? null);
  }
}

/** The payload of whole DATA frames of stream 1, copied; anything else fails the test. */
function payloadOf(frames: Buffer): Buffer {
  const payloads: Buffer[] = [];
  for (let at = 0; at < frames.length; ) {
    const length = frames.readUIntBE(at, 3);
    expect([length > 0, length <= MAX_FRAME_BYTES, frames[at + 3], frames[at + 4]]).toEqual([true, true, 0, 0]);
    expect(frames.readUInt32BE(at + 5)).toBe(1);
    payloads.push(frames.subarray(at + FRAME_HEADER_BYTES, at + FRAME_HEADER_BYTES + length));
    at += FRAME_HEADER_BYTES + length;
  }
  return Buffer.concat(payloads);
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function open(transport: SlowTransport, onLow = () => {}, onEmpty = () => {}, onFull = () => {}): Outbox {
  return new Outbox(transport, new PacketMeter(new SegmentCounters(), "sent"), onLow, onEmpty, onFull);
}

async function drain(outbox: Outbox, transport: SlowTransport): Promise<void> {
  for (let turns = 0; outbox.queuedBytes > 0; turns++) {
    if (turns > 10_000) throw new Error(`${outbox.queuedBytes} bytes stay behind`);
    await turn();
    transport.take();
  }
}

describe("packets that an outbox sends", () => {
  const step = fc.oneof(
    fc.record({ data: fc.integer({ min: 1, max: 3 * MAX_DATA_BYTES }), id: fc.integer({ min: 1, max: 5 }) }),
    fc.record({ close: fc.integer({ min: 1, max: 5 }), text: fc.nat(100) }),
    fc.record({ long: fc.integer({ min: STAGING_BYTES - 64, max: 2 * STAGING_BYTES }) }),
    fc.constant("take" as const),
    fc.constant("turn" as const),
  );

  test("is what went in, in order, byte for byte, however late the transport takes it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.nat(255), async (steps, seed) => {
        const transport = new SlowTransport();
        const outbox = open(transport);
        // Every payload is copied into one buffer that is overwritten at once, as the shared read buffer is.
        const shared = Buffer.alloc(3 * MAX_DATA_BYTES);
        const sent = new Map<ConnectId, Buffer[]>();
        const controls: ControlPacket[] = [];
        let value = seed;
        for (const each of steps) {
          if (each === "take") transport.take();
          else if (each === "turn") await turn();
          else if ("data" in each) {
            const payload = shared.subarray(0, each.data).fill(value++ % 256);
            sent.set(each.id, [...(sent.get(each.id) ?? []), Buffer.from(payload)]);
            outbox.data(each.id, payload);
            shared.fill(0xee);
          } else {
            const packet: ControlPacket =
              "long" in each
                ? { type: "DIAL_RSP", error: "e".repeat(each.long), connectId: 0, random: 9n }
                : { type: "CLOSE_RSP", connectId: each.close, error: "x".repeat(each.text) };
            controls.push(packet);
            outbox.control(packet);
          }
        }
        await drain(outbox, transport);
        const got = new Map<ConnectId, Buffer[]>();
        const gotControls: ControlPacket[] = [];
        const reader = new PacketReader({
          onControl: (packet) => gotControls.push(packet),
          onData: (id, chunk) => got.set(id, [...(got.get(id) ?? []), chunk]),
        });
        for (const bytes of transport.taken) reader.push(bytes);
        expect(reader.idle).toBe(true);
        expect(transport.mostInFlight).toBeLessThanOrEqual(1);
        expect(gotControls).toEqual(controls);
        expect([...got.keys()].sort()).toEqual([...sent.keys()].sort());
        for (const [id, parts] of sent) expect(Buffer.concat(got.get(id)!).equals(Buffer.concat(parts))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test("two outboxes that share the pool do not mix", async () => {
    const transports = [new SlowTransport(), new SlowTransport()];
    const outboxes = transports.map((transport) => open(transport));
    for (let round = 0; round < 30; round++) {
      outboxes.forEach((outbox, index) => {
        for (let n = 0; n < 4; n++) outbox.data(index + 1, Buffer.alloc(MAX_DATA_BYTES, index + 1));
      });
      await turn();
      for (const transport of transports) if ((round + transports.indexOf(transport)) % 2 === 0) transport.take();
    }
    for (const [index, outbox] of outboxes.entries()) await drain(outbox, transports[index]!);
    for (const [index, transport] of transports.entries()) {
      const ids = new Set<ConnectId>();
      let foreign = 0;
      const reader = new PacketReader({
        onControl: () => {},
        onData: (id, chunk) => {
          ids.add(id);
          if (!chunk.every((byte) => byte === index + 1)) foreign++;
        },
      });
      for (const bytes of transport.taken) reader.push(bytes);
      expect({ ids: [...ids], foreign }).toEqual({ ids: [index + 1], foreign: 0 });
    }
  });

  test("packets of one turn leave in one write", async () => {
    const transport = new SlowTransport();
    const outbox = open(transport);
    outbox.control({ type: "DRAIN" });
    outbox.data(1, Buffer.from("a"));
    outbox.control({ type: "CLOSE_REQ", connectId: 1 });
    await turn();
    transport.take();
    const expected = [
      encodePacket({ type: "DRAIN" }),
      encodePacket({ type: "DATA", connectId: 1, data: Buffer.from("a") }),
      encodePacket({ type: "CLOSE_REQ", connectId: 1 }),
    ];
    expect(transport.taken).toEqual([Buffer.concat(expected)]);
  });

  test("on a busy link packets wait for others as long as every turn brings some, for 16 turns or 4 KiB", async () => {
    const transport = new SlowTransport();
    const outbox = open(transport);
    const addSome = (count: number) => {
      for (let each = 0; each < count; each++) outbox.control({ type: "CLOSE_REQ", connectId: 1 });
    };
    const turnsOf = async (packetsEach: number): Promise<number> => {
      // A link that has had several packets at once is busy.
      addSome(2);
      for (let turns = 0; turns < 20; turns++) await turn();
      expect(transport.inFlight.length).toBe(1);
      transport.take();
      let turns = 0;
      for (; transport.inFlight.length === 0; turns++) {
        addSome(packetsEach);
        await turn();
      }
      transport.take();
      return turns;
    };
    expect(await turnsOf(1)).toBe(17);
    const perTurn = 50;
    const turns = await turnsOf(perTurn);
    expect([turns > 2, turns < 10]).toEqual([true, true]);
  });
});

describe("the water marks of an outbox", () => {
  test("make sources pause at the high mark and go on at the low one, once", async () => {
    const transport = new SlowTransport();
    const events: string[] = [];
    const outbox = open(
      transport,
      () => events.push("low"),
      () => events.push("empty"),
    );
    let written = 0;
    while (outbox.data(1, Buffer.alloc(MAX_DATA_BYTES))) written += MAX_DATA_BYTES;
    expect(written).toBeGreaterThan(HIGH_WATER_BYTES - 2 * MAX_DATA_BYTES);
    expect(outbox.congested).toBe(true);
    for (let n = 0; n < 10 && outbox.congested; n++) {
      await turn();
      transport.take();
    }
    expect(outbox.congested).toBe(false);
    expect(outbox.queuedBytes).toBeLessThanOrEqual(LOW_WATER_BYTES);
    await drain(outbox, transport);
    expect(events).toEqual(["low", "empty"]);
  });
});

describe("control packets that nobody takes", () => {
  const packet: ControlPacket = { type: "CLOSE_RSP", connectId: 7, error: "unrecognized connectID" };

  test("are too many when they pass their bound, whatever DATA waits beside them", async () => {
    const transport = new SlowTransport();
    let full = 0;
    const outbox = open(
      transport,
      () => {},
      () => {},
      () => full++,
    );
    outbox.data(1, Buffer.alloc(MAX_CONTROL_BYTES));
    const dataBytes = outbox.queuedBytes;
    while (full === 0 && outbox.queuedBytes < dataBytes + 2 * MAX_CONTROL_BYTES) outbox.control(packet);
    expect(full).toBe(1);
    expect(outbox.queuedBytes - dataBytes).toBeGreaterThan(MAX_CONTROL_BYTES);
    expect(outbox.queuedBytes - dataBytes).toBeLessThan(MAX_CONTROL_BYTES + 1000);
    outbox.close();
  });

  test("are never too many for a peer that takes them", async () => {
    const transport = new SlowTransport();
    let full = 0;
    const outbox = open(
      transport,
      () => {},
      () => {},
      () => full++,
    );
    for (let sent = 0; sent < 3 * MAX_CONTROL_BYTES; sent += 40_000) {
      for (let count = 0; count < 1000; count++) outbox.control(packet);
      await drain(outbox, transport);
    }
    expect(full).toBe(0);
  });
});

describe("an outbox that is closed", () => {
  test("nothing more is written, not even what was waiting", async () => {
    const transport = new SlowTransport();
    const outbox = open(transport);
    outbox.data(1, Buffer.alloc(2 * STAGING_BYTES));
    await turn();
    outbox.close();
    outbox.data(1, Buffer.from("late"));
    outbox.control({ type: "DRAIN" });
    transport.take();
    await turn();
    expect(transport.taken).toHaveLength(1);
    expect(transport.inFlight).toHaveLength(0);
    expect(outbox.queuedBytes).toBe(0);
  });

  test("a buffer the transport still reads is not given to anyone else", async () => {
    const transport = new SlowTransport();
    const outbox = open(transport);
    outbox.data(1, Buffer.alloc(MAX_DATA_BYTES, 1));
    await turn();
    const [held] = transport.inFlight;
    const before = Buffer.from(held!.bytes);
    outbox.close();
    const others = Array.from({ length: 40 }, () => open(new SlowTransport()));
    for (const other of others) other.data(2, Buffer.alloc(MAX_DATA_BYTES, 2));
    expect(held!.bytes.equals(before)).toBe(true);
    for (const other of others) other.close();
  });

  test("a transport that fails is not written to again", async () => {
    const transport = new SlowTransport();
    const outbox = open(transport);
    outbox.data(1, Buffer.alloc(2 * STAGING_BYTES));
    await turn();
    transport.take(new Error("gone"));
    await turn();
    expect(transport.inFlight).toHaveLength(0);
  });
});
