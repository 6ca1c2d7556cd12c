import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { encodePacket } from "../wire/encode.js";
import type { Stream } from "./h2/stream.js";
import { SegmentCounters } from "./packet-meter.js";
import { PacketStream, type StreamOwner } from "./packet-stream.js";

/** A stream whose chunks come from the test, and what its owner has seen. */
function open() {
  const session = { runtime: new ManualClock(), frameBytes: 16 * 1024 };
  const stream = Object.assign(new EventEmitter(), { id: 1, isServer: false, session }) as unknown as Stream;
  const seen: string[] = [];
  const owner = {
    onData: (_connectId: number, chunk: Buffer) => seen.push(`${chunk.length} bytes`),
    onSettle: () => seen.push("settled"),
  } as unknown as StreamOwner;
  new PacketStream(stream, owner, { received: new SegmentCounters(), sent: new SegmentCounters() });
  const receive = (bytes: number) =>
    stream.onData(encodePacket({ type: "DATA", connectId: 1, data: Buffer.alloc(bytes) }));
  return { seen, receive };
}

const tick = () => new Promise<void>((resolve) => process.nextTick(resolve));
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("the chunks of one read of a busy link are handed on together", async () => {
  const { seen, receive } = open();
  receive(16_000);
  await tick();
  receive(16_000);
  await turn();
  expect(seen).toEqual(["16000 bytes", "16000 bytes", "settled"]);
});

test("of a socket that is read many times in one turn, chunks are handed on every 64 KiB", async () => {
  const { seen, receive } = open();
  for (let each = 0; each < 8; each++) {
    receive(16_384);
    await tick();
  }
  expect(seen).toEqual([...Array(4).fill("16384 bytes"), "settled", ...Array(4).fill("16384 bytes"), "settled"]);
  await turn();
  expect(seen.length).toBe(10);
});

test("a small chunk is handed on at once", async () => {
  const { seen, receive } = open();
  receive(1_000);
  await tick();
  expect(seen).toEqual(["1000 bytes", "settled"]);
});
