import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ByteQueue, looseViews } from "./byte-queue.js";

/** The memory behind the pieces that a queue gives back, each allocation once. */
function drain(queue: ByteQueue): { bytes: Buffer; retained: number; pieces: number } {
  const parts: Buffer[] = [];
  for (let part = queue.shift(); part !== undefined; part = queue.shift()) parts.push(part);
  const behind = new Set(parts.map((part) => part.buffer));
  const retained = [...behind].reduce((sum, { byteLength }) => sum + byteLength, 0);
  return { bytes: Buffer.concat(parts), retained, pieces: parts.length };
}

const CHUNK_BYTES = 64 * 1024;

const { bytesLeft } = looseViews;
beforeEach(() => {
  looseViews.bytesLeft = 0;
});
afterEach(() => {
  looseViews.bytesLeft = bytesLeft;
});

/** Views of one chunk, as the payloads of its frames are: so many, each so long. */
function views(lengths: readonly number[], value: number): Buffer[] {
  const chunk = Buffer.alloc(CHUNK_BYTES, value);
  let at = 0;
  return lengths.flatMap((length) => {
    const view = chunk.subarray(at, at + length);
    at += length + 9;
    return view.length === 0 ? [] : [view];
  });
}

describe("a queue of bytes", () => {
  const step = fc.oneof(
    fc.array(fc.oneof(fc.nat(40), fc.nat(20_000)), { maxLength: 12 }),
    fc.constant("shift" as const),
    fc.constant("settle" as const),
  );

  test("gives back what was put in, in order, and keeps at most twice as much memory alive", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const queue = new ByteQueue();
        const put: Buffer[] = [];
        const got: Buffer[] = [];
        for (const [index, each] of steps.entries()) {
          if (each === "shift") {
            const part = queue.shift();
            if (part !== undefined) got.push(Buffer.from(part));
          } else if (each === "settle") queue.settle();
          else {
            for (const view of views(each, index % 256)) {
              put.push(Buffer.from(view));
              queue.push(view);
            }
          }
        }
        const waiting = queue.length;
        const rest = drain(queue);
        expect(Buffer.concat([...got, rest.bytes]).equals(Buffer.concat(put))).toBe(true);
        expect(rest.bytes.length).toBe(waiting);
        expect(rest.retained).toBeLessThanOrEqual(2 * waiting + 2 * CHUNK_BYTES + 1024);
        expect(queue.length).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  test("does not keep a chunk alive for a part of it", () => {
    const queue = new ByteQueue();
    for (let count = 0; count < 100; count++) for (const view of views([5000, 5000], 1)) queue.push(view);
    expect(drain(queue).retained).toBeLessThan(1.5 * 1_000_000);
  });

  test("keeps parts of chunks as they are while little is kept alive for them in the whole process", () => {
    looseViews.bytesLeft = 3 * CHUNK_BYTES;
    const queues = [new ByteQueue(), new ByteQueue()];
    for (let count = 0; count < 100; count++) {
      for (const queue of queues) for (const view of views([5000, 5000], 1)) queue.push(view);
    }
    expect(looseViews.bytesLeft).toBeLessThan(CHUNK_BYTES);
    queues[0]!.clear();
    const { retained } = drain(queues[1]!);
    expect(retained).toBeGreaterThan(1_000_000);
    expect(retained).toBeLessThan(1.5 * 1_000_000 + 3 * CHUNK_BYTES);
    expect(looseViews.bytesLeft).toBe(3 * CHUNK_BYTES);
  });

  test("keeps a piece that is alone as it is, until it has to wait", () => {
    const queue = new ByteQueue();
    const [alone, waits] = views([5000, 5], 1) as [Buffer, Buffer];
    queue.push(alone);
    expect(queue.shift()).toBe(alone);
    queue.push(waits);
    queue.settle();
    expect(drain(queue).retained).toBeLessThan(1024);
  });

  test("gathers pieces of one byte, and takes a quarter of a million of them in no time", () => {
    const queue = new ByteQueue();
    const chunk = Buffer.alloc(64 * 1024, 7);
    for (let count = 0; count < 250_000; count++)
      queue.push(chunk.subarray(count % chunk.length, (count % chunk.length) + 1));
    const { bytes, pieces } = drain(queue);
    expect(bytes.length).toBe(250_000);
    expect(pieces).toBeLessThan(40);
  });

  test("does not copy pieces that together are nearly all of the chunk they came in", () => {
    const queue = new ByteQueue();
    const pieces = [...views([16_384, 16_384, 16_384, 16_000], 1), ...views([60_000], 2)];
    for (const piece of pieces) queue.push(piece);
    for (const piece of pieces) expect(queue.shift()!.buffer).toBe(piece.buffer);
  });

  test("keeps nothing after it was cleared", () => {
    const queue = new ByteQueue();
    queue.push(Buffer.alloc(10_000));
    queue.push(Buffer.from("x"));
    queue.clear();
    expect([queue.length, queue.shift()]).toEqual([0, undefined]);
  });
});
