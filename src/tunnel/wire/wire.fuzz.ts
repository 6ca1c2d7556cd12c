/** A million inputs to each decoder: a result or a clean refusal, never anything else (npm run fuzz). */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hostOfAddress, splitHostPort } from "../../base/address.js";
import { parseConnectRequest } from "./connect.js";
import { decodePacket } from "./decode.js";
import { encodePacket } from "./encode.js";
import { parseIdentifiers } from "./identifiers.js";
import { WireError } from "./packet.js";
import { PacketReader } from "./packet-reader.js";
import { packets } from "./testing/arbitrary-packet.js";

const RUNS = 1_000_000;

function refusesCleanly(action: () => void): void {
  try {
    action();
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
  }
}

/** Mostly well-formed bytes with a few of them changed find more than noise does. */
const damaged = fc
  .tuple(packets, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }))
  .map(([packet, changes]) => {
    const bytes = Buffer.from(encodePacket(packet));
    for (const [at, value] of changes) bytes[at % bytes.length] = value;
    return bytes;
  });

describe("a million random inputs", () => {
  test("to the Packet decoder", () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 64 }), damaged), (bytes) =>
        refusesCleanly(() => decodePacket(Buffer.from(bytes).subarray(5))),
      ),
      { numRuns: RUNS },
    );
  });

  test("to the gRPC frame reader, in two pieces", () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 64 }), damaged), fc.nat(64), (bytes, cut) => {
        const reader = new PacketReader({ onControl() {}, onData() {} }, undefined, 4096);
        refusesCleanly(() => {
          reader.push(Buffer.from(bytes.subarray(0, cut)));
          reader.push(Buffer.from(bytes.subarray(cut)));
        });
      }),
      { numRuns: RUNS },
    );
  });

  test("to the CONNECT parser", () => {
    const head = fc.string({ unit: "binary-ascii", maxLength: 60 }).map((text) => `CONNECT ${text}\r\n\r\n`);
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 64 }), head), (input) => {
        parseConnectRequest(Buffer.from(input as string));
      }),
      { numRuns: RUNS },
    );
  });

  test("to the identifiers and the address splitters", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary-ascii", maxLength: 40 }), (text) => {
        expect(typeof hostOfAddress(text)).toBe("string");
        expect(splitHostPort(text)).toBeTypeOf("object");
        try {
          parseIdentifiers(text);
        } catch (error) {
          if (!/^invalid (semicolon|URL escape)/.test((error as Error).message)) throw error;
        }
      }),
      { numRuns: RUNS },
    );
  });
});
