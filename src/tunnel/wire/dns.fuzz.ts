/** A million inputs to the DNS decoder: an answer or a clean refusal, never anything else (npm run fuzz). */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { addressesFor, decodeAnswer } from "./dns.js";
import { encodeAnswer } from "./testing/dns-server.js";

const RUNS = 1_000_000;
const QUERY = { id: 7, name: "a.example", type: "A" } as const;

const whole = encodeAnswer(QUERY, {
  negativeSeconds: 3,
  records: [
    { type: "CNAME", name: "a.example", seconds: 1, target: "b.example" },
    { type: "A", name: "b.example", seconds: 1, address: "10.0.0.1" },
    { type: "AAAA", name: "b.example", seconds: 1, address: "fd00::1" },
  ],
});

const damaged = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 5 }).map((changes) => {
  const bytes = Buffer.from(whole);
  for (const [at, value] of changes) bytes[at] = value;
  return bytes;
});

describe("a million random inputs", () => {
  test("to the DNS decoder", () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 96 }), damaged), (bytes) => {
        const answer = decodeAnswer(Buffer.from(bytes));
        if (answer === undefined) return;
        const found = addressesFor("a.example", "A", answer);
        expect(found?.addresses.length ?? 0).toBeLessThanOrEqual(answer.records.length);
      }),
      { numRuns: RUNS },
    );
  });
});
