import { expect, test } from "vitest";
import { GatheredBytes } from "./byte-queue.js";

test("gathered bytes are what came, in order, in little more memory than that, however small the pieces were", () => {
  const gathered = new GatheredBytes();
  const sent = Buffer.from(Array.from({ length: 50_000 }, (_, at) => at % 251));
  for (const byte of sent) gathered.append(Buffer.from([byte]));
  expect(gathered.bytes.equals(sent)).toBe(true);
  expect(gathered.bytes.buffer.byteLength).toBeLessThanOrEqual(2 * sent.length);
});

test("gathered bytes that were dropped are forgotten, and later ones follow the rest", () => {
  const gathered = new GatheredBytes();
  gathered.append(Buffer.from("head and body"));
  gathered.drop(5);
  expect(String(gathered.bytes)).toBe("and body");
  gathered.append(Buffer.from(" and more"));
  expect(String(gathered.bytes)).toBe("and body and more");
  gathered.drop(gathered.length);
  gathered.append(Buffer.from("next"));
  expect(String(gathered.bytes)).toBe("next");
});

test("gathering bytes does not write into the pieces that were given", () => {
  const slab = Buffer.from("abcdef");
  const gathered = new GatheredBytes();
  gathered.append(slab.subarray(0, 3));
  gathered.append(Buffer.from("XYZ"));
  expect([String(slab), String(gathered.bytes)]).toEqual(["abcdef", "abcXYZ"]);
});
