import { expect, test } from "vitest";
import { decode, encode, type Packet } from "./packets.js";

const RANDOM = 1234567890123456789n;

// What the Go implementation's own protobuf code makes of these packets.
const GOLDEN: [Packet, string][] = [
  [
    { type: "DIAL_REQ", protocol: "tcp", address: "10.0.0.1:10250", random: RANDOM },
    "121f0a03746370120e31302e302e302e313a31303235301895" + "82a6efc79e849111",
  ],
  [{ type: "DIAL_RSP", error: "", connectID: 7n, random: RANDOM }, "08011a0c1007189582a6efc79e849111"],
  [
    { type: "DIAL_RSP", error: "No agent available", connectID: 0n, random: 1n },
    "08011a160a124e6f206167656e7420617661696c61626c651801",
  ],
  [{ type: "CLOSE_REQ", connectID: 7n }, "08022a020807"],
  [{ type: "CLOSE_RSP", error: "", connectID: 7n }, "080332021007"],
  [{ type: "DATA", connectID: 7n, data: Buffer.from("hi") }, "0804220608071a026869"],
  [{ type: "DIAL_CLS", random: 1n }, "08053a020801"],
  [{ type: "DRAIN" }, "08064200"],
];

test.each(GOLDEN)("encodes and decodes %o as upstream does", (packet, hex) => {
  expect(encode(packet).toString("hex")).toBe(hex);
  expect(decode(Buffer.from(hex, "hex"))).toEqual(packet);
});
