import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ByteQueue } from "./byte-queue.js";

/** The memory behind the pieces that a queue gives back, each allocation once. */
function drain(queue: ByteQueue): { bytes: Buffer; retained: number; pieces: number } {
  const parts: Buffer[] = [];
  for (let part = queue.shift(); part !== undefined; part = queue.shift()) parts.push(part);
  const behind = new Set(parts.map((part) => part.buffer));
  const retained = [...behind].reduce((sum, { byteLength }) => sum + byteLength, 0);
  return { bytes: Buffer.concat(parts), retained, pieces: parts.length };
}

/** A view of the middle of something larger, as a frame's payload is of the chunk it came in. */
const view = (length: number, around: number, value: number): Buffer =>
  Buffer.alloc(length + around, value).subarray(around >>> 1, (around >>> 1) + length);

describe("a queue of bytes", () => {
  const step = fc.oneof(
    fc.record({ length: fc.oneof(fc.nat(40), fc.nat(20_000)), around: fc.oneof(fc.constant(0), fc.nat(100_000)) }),
    fc.constant("shift" as const),
  );

  it("gives back what was put in, in order, and keeps at most twice as much memory alive", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const queue = new ByteQueue();
        const put: Buffer[] = [];
        const got: Buffer[] = [];
        for (const [index, each] of steps.entries()) {
          if (each === "shift") {
            const part = queue.shift();
            if (part !== undefined) got.push(Buffer.from(part));
          } else {
            const chunk = view(each.length, each.around, index % 256);
            put.push(Buffer.from(chunk));
            queue.push(chunk);
          }
        }
        const waiting = queue.length;
        const rest = drain(queue);
        expect(Buffer.concat([...got, rest.bytes]).equals(Buffer.concat(put))).toBe(true);
        expect(rest.bytes.length).toBe(waiting);
        expect(rest.retained).toBeLessThanOrEqual(2 * waiting + 1024);
        expect(queue.length).toBe(0);
      }),
      { numRuns: 500 },
    );
  });

  it("gathers pieces of one byte, and takes a quarter of a million of them in no time", () => {
    const queue = new ByteQueue();
    const chunk = Buffer.alloc(64 * 1024, 7);
    for (let count = 0; count < 250_000; count++)
      queue.push(chunk.subarray(count % chunk.length, (count % chunk.length) + 1));
    const { bytes, pieces } = drain(queue);
    expect(bytes.length).toBe(250_000);
    expect(pieces).toBeLessThan(40);
  });

  it("does not copy a piece that is nearly all of the memory behind it", () => {
    const queue = new ByteQueue();
    const chunk = view(16_375, 9, 1);
    queue.push(chunk);
    expect(queue.shift()!.buffer).toBe(chunk.buffer);
  });

  it("keeps nothing after it was cleared", () => {
    const queue = new ByteQueue();
    queue.push(Buffer.alloc(10_000));
    queue.push(Buffer.from("x"));
    queue.clear();
    expect([queue.length, queue.shift()]).toEqual([0, undefined]);
  });
});
