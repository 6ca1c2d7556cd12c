import fc from "fast-check";
import { expect, test } from "vitest";
import { EventStreamReader } from "./event-stream.js";

const text = 'event: snapshot\ndata: {"ä":1}\n\n: alive\n\nevent: change\ndata: {"b":\ndata: 2}\n\n';
const events = [
  { name: "snapshot", data: '{"ä":1}' },
  { name: "change", data: '{"b":\n2}' },
];

test("the same events come out, wherever the bytes are cut", () => {
  const bytes = Buffer.from(text);
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(bytes.length)), (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const reader = new EventStreamReader();
      const got = places.slice(1).flatMap((end, index) => reader.take(bytes.subarray(places[index], end)));
      expect(got).toEqual(events);
    }),
  );
});

test("an event that never ends is an error", () => {
  const reader = new EventStreamReader();
  const megabyte = Buffer.alloc(1024 * 1024, "x");
  expect(() => {
    for (let each = 0; each < 17; each++) reader.take(megabyte);
  }).toThrow("has no end");
});
