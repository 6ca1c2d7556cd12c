import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodePacket } from "./decode.js";
import { encodePacket } from "./encode.js";
import { type Packet, WireError } from "./packet.js";
import { packets } from "./testing/arbitrary-packet.js";
import { ReferencePacket } from "./testing/reference-codec.js";

const RANDOM = 1234567890123456789n;

/** Upstream's own bytes, without the gRPC prefix. */
const golden: [Packet, string][] = [
  [
    { type: "DIAL_REQ", protocol: "tcp", address: "10.0.0.1:10250", random: RANDOM },
    "121f0a03746370120e31302e302e302e313a31303235301895 82a6efc79e849111",
  ],
  [{ type: "DIAL_RSP", error: "", connectId: 7, random: RANDOM }, "08011a0c1007189582a6efc79e849111"],
  [
    { type: "DIAL_RSP", error: "No agent available", connectId: 0, random: 1n },
    "08011a160a124e6f206167656e7420617661696c61626c651801",
  ],
  [{ type: "CLOSE_REQ", connectId: 7 }, "08022a020807"],
  [{ type: "CLOSE_REQ", connectId: 7, error: "gone" }, "08022a090807c23e04676f6e65"],
  [{ type: "CLOSE_RSP", connectId: 7, error: "" }, "080332021007"],
  [{ type: "DATA", connectId: 7, data: Buffer.from("hi") }, "0804220608071a026869"],
  [{ type: "DIAL_CLS", random: 1n }, "08053a020801"],
  [{ type: "DRAIN" }, "08064200"],
];

describe("Packet codec", () => {
  test.each(golden)("encodes and decodes %o as upstream does", (packet, hex) => {
    const body = Buffer.from(hex.replaceAll(" ", ""), "hex");
    const encoded = encodePacket(packet);
    expect(encoded.subarray(5).toString("hex")).toBe(body.toString("hex"));
    expect(encoded[0]).toBe(0);
    expect(encoded.readUInt32BE(1)).toBe(body.length);
    expect(decodePacket(body)).toEqual(packet);
  });

  test("agrees with a foreign protobuf implementation in both directions", () => {
    fc.assert(
      fc.property(packets, (packet) => {
        const ours = encodePacket(packet).subarray(5);
        const theirs = ReferencePacket.encode(ReferencePacket.decode(ours)).finish();
        expect(decodePacket(Buffer.from(theirs))).toEqual(packet);
        expect(ReferencePacket.decode(ours)).toEqual(ReferencePacket.decode(theirs));
      }),
      { numRuns: 500 },
    );
  });

  test("refuses a packet without its payload instead of trusting it", () => {
    for (const hex of ["", "0801", "08041a020807", "0806"]) {
      expect(() => decodePacket(Buffer.from(hex, "hex")), hex).toThrow(WireError);
    }
  });

  test("does not know, and does not mind, packet types of newer peers", () => {
    expect(decodePacket(Buffer.from("08 63 4a 00".replaceAll(" ", ""), "hex"))).toBeUndefined();
  });

  test("skips fields it does not know and keeps the last member of a oneof", () => {
    expect(decodePacket(Buffer.from("0802" + "2a020809" + "2a020807" + "fa0f0161" + "850e00000000", "hex"))).toEqual({
      type: "CLOSE_REQ",
      connectId: 7,
    });
  });

  test("answers arbitrary bytes with a packet, with nothing, or with a WireError", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        try {
          decodePacket(Buffer.from(bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(WireError);
        }
      }),
      { numRuns: 5000 },
    );
  });
});
