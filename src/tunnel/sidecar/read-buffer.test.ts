import { describe, expect, test } from "vitest";
import { LargePieces, ReadBuffer } from "./read-buffer.js";

const SMALL = 4 * 1024;
const LARGE = 64 * 1024;

/** As a socket uses it. */
function read(buffer: ReadBuffer, length: number, stillRead = false): Buffer {
  const bytes = buffer.filled(length);
  buffer.choose(length, stillRead);
  return bytes;
}

describe("a read buffer", () => {
  test("shows what was read, whatever the lengths before", () => {
    const buffer = new ReadBuffer(new LargePieces(1, 1));
    for (const text of ["one", "two", "three", "one"]) {
      buffer.current.write(text);
      expect(read(buffer, text.length).toString()).toBe(text);
    }
    read(buffer, SMALL);
    buffer.current.write("one");
    expect(read(buffer, 3).toString()).toBe("one");
    buffer.current.write("two");
    expect(read(buffer, 3).toString()).toBe("two");
  });

  test("is large while reads are, and small again", () => {
    const pieces = new LargePieces(1, 1);
    const buffer = new ReadBuffer(pieces);
    const sizes = [100, SMALL, LARGE, LARGE / 2, 100, 100].map((length) => {
      read(buffer, length);
      return buffer.current.length;
    });
    expect(sizes).toEqual([SMALL, LARGE, LARGE, LARGE, SMALL, SMALL]);
    expect(pieces.lent).toBe(0);
  });

  test("stays small when too many are large", () => {
    const pieces = new LargePieces(2, 2);
    const buffers = Array.from({ length: 3 }, () => new ReadBuffer(pieces));
    for (const buffer of buffers) read(buffer, SMALL);
    expect(buffers.map(({ current }) => current.length)).toEqual([LARGE, LARGE, SMALL]);
    buffers[0]!.release();
    read(buffers[2]!, SMALL);
    expect(buffers[2]!.current.length).toBe(LARGE);
  });

  test("is not given to another while somebody still reads it", () => {
    const pieces = new LargePieces(2, 2);
    const [one, other] = [new ReadBuffer(pieces), new ReadBuffer(pieces)];
    read(one, SMALL);
    const large = one.current;
    read(one, 10, true);
    expect(one.current).toBe(large);
    one.release();
    read(other, SMALL);
    expect(other.current).not.toBe(large);
    const next = other.current;
    read(other, 10);
    read(one, SMALL);
    expect(one.current).toBe(next);
  });

  test("keeps no more free pieces than configured", () => {
    const pieces = new LargePieces(3, 1);
    const taken = [pieces.take()!, pieces.take()!, pieces.take()!];
    for (const piece of taken) pieces.giveBack(piece, false);
    expect(pieces.lent).toBe(0);
    expect(taken).toContain(pieces.take());
    expect(taken).not.toContain(pieces.take());
  });
});
