import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodePacket } from "./encode.js";
import { type ConnectId, type ControlPacket, type Packet, WireError } from "./packet.js";
import { PacketReader } from "./packet-reader.js";
import { dataPackets, packets } from "./testing/arbitrary-packet.js";

/** Collects what a reader hands on, joining the parts of one connection's DATA that follow each other. */
class Collected {
  readonly seen: (ControlPacket | { type: "DATA"; connectId: ConnectId; hex: string })[] = [];

  onControl(packet: ControlPacket): void {
    this.seen.push(packet);
  }

  onData(connectId: ConnectId, chunk: Buffer): void {
    expect(chunk.length).toBeGreaterThan(0);
    const last = this.seen.at(-1);
    if (last?.type === "DATA" && last.connectId === connectId) last.hex += chunk.toString("hex");
    else this.seen.push({ type: "DATA", connectId, hex: chunk.toString("hex") });
  }
}

function readAll(bytes: Buffer, cuts: number[]): Collected {
  const collected = new Collected();
  const reader = new PacketReader(collected);
  const points = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const to of [...points, bytes.length]) {
    // A copy per piece: a slice kept too long would show up as wrong bytes.
    reader.push(Buffer.from(bytes.subarray(from, to)));
    from = to;
  }
  expect(reader.idle).toBe(true);
  return collected;
}

function expected(list: Packet[]): Collected {
  const collected = new Collected();
  for (const packet of list) {
    if (packet.type === "DATA") collected.onData(packet.connectId, packet.data);
    else collected.onControl(packet);
  }
  return collected;
}

describe("PacketReader", () => {
  test("gives the same packets for every split of the bytes", () => {
    fc.assert(
      fc.property(fc.array(packets, { maxLength: 12 }), fc.array(fc.nat(), { maxLength: 40 }), (list, cuts) => {
        const bytes = Buffer.concat(list.map(encodePacket));
        expect(readAll(bytes, cuts).seen).toEqual(expected(list).seen);
      }),
      { numRuns: 1500 },
    );
  });

  test("gives the same packets byte by byte", () => {
    fc.assert(
      fc.property(fc.array(dataPackets, { minLength: 1, maxLength: 4 }), (list) => {
        const bytes = Buffer.concat(list.map(encodePacket));
        expect(readAll(bytes, [...bytes.keys()]).seen).toEqual(expected(list).seen);
      }),
      { numRuns: 200 },
    );
  });

  test("hands DATA on before the rest of its packet has arrived", () => {
    const collected = new Collected();
    const reader = new PacketReader(collected);
    const bytes = encodePacket({ type: "DATA", connectId: 3, data: Buffer.alloc(1000, 7) });
    reader.push(bytes.subarray(0, 500));
    expect(collected.seen).toHaveLength(1);
    expect(reader.idle).toBe(false);
    reader.push(bytes.subarray(500));
    expect(reader.idle).toBe(true);
    expect(collected.seen).toEqual([{ type: "DATA", connectId: 3, hex: Buffer.alloc(1000, 7).toString("hex") }]);
  });

  test("reads DATA whose fields come in another order or carry more than usual", () => {
    const inner = Buffer.from("1a026869" + "0807", "hex");
    const body = Buffer.concat([Buffer.from([0x22, inner.length]), inner, Buffer.from("0804", "hex")]);
    const message = Buffer.concat([Buffer.from([0, 0, 0, 0, body.length]), body]);
    expect(readAll(message, [7]).seen).toEqual([{ type: "DATA", connectId: 7, hex: "6869" }]);
  });

  test("tells of every packet once", () => {
    const told: unknown[] = [];
    const reader = new PacketReader(new Collected(), {
      data: (connectId, bytes) => told.push([connectId, bytes]),
      control: ({ type }) => told.push(type),
    });
    reader.push(encodePacket({ type: "DATA", connectId: 1, data: Buffer.alloc(10) }));
    reader.push(encodePacket({ type: "DRAIN" }));
    expect(told).toEqual([[1, 10], "DRAIN"]);
  });

  test("refuses an oversized message before it is gathered", () => {
    const reader = new PacketReader(new Collected());
    expect(() => reader.push(Buffer.from("0000400001", "hex"))).toThrow(/larger than max \(4194305 vs. 4194304\)/);
  });

  test("sets no memory aside for what a message only announces", () => {
    const announced = Buffer.from("0000400000120000", "hex");
    const before = process.memoryUsage().arrayBuffers;
    const readers = Array.from({ length: 200 }, () => new PacketReader(new Collected()));
    for (const reader of readers) reader.push(announced);
    expect(readers.every(({ idle }) => !idle)).toBe(true);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(200 * 16 * 1024);
  });

  test("gathers a long message from any pieces", () => {
    const error = "e".repeat(300_000);
    const bytes = encodePacket({ type: "DIAL_RSP", error, connectId: 5, random: 1n });
    for (const size of [1000, 4095, 4096, 70_000]) {
      const cuts = Array.from({ length: Math.floor(bytes.length / size) }, (_, index) => (index + 1) * size);
      expect(readAll(bytes, cuts).seen).toEqual([{ type: "DIAL_RSP", error, connectId: 5, random: 1n }]);
    }
  });

  test("refuses compression", () => {
    expect(() => new PacketReader(new Collected()).push(Buffer.from("0100000000", "hex"))).toThrow(WireError);
  });

  test("answers garbage with a WireError or patience, never with anything else", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 80 }), { maxLength: 8 }), (chunks) => {
        const reader = new PacketReader({ onControl() {}, onData() {} }, undefined, 1000);
        try {
          for (const chunk of chunks) reader.push(Buffer.from(chunk));
        } catch (error) {
          expect(error).toBeInstanceOf(WireError);
        }
      }),
      { numRuns: 5000 },
    );
  });
});
