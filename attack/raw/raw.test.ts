/** What the attackers write is compared with the codec in src/, which they do not use. */
import { expect, test } from "vitest";
import { encodePacket } from "../../src/tunnel/wire/encode.js";
import { integer } from "./headers.js";
import { dataPacket, dialRequest, dialResponse, PacketCollector, PacketType } from "./packets.js";

test("writes packets as the codec of src/ does", () => {
  const [random, address] = [-5_000_000_000_000_000_000n, "127.0.0.2:80"];
  expect(dialRequest(address, random)).toEqual(
    Buffer.from(encodePacket({ type: "DIAL_REQ", protocol: "tcp", address, random })),
  );
  expect(dataPacket(7, Buffer.from("x"))).toEqual(
    Buffer.from(encodePacket({ type: "DATA", connectId: 7, data: Buffer.from("x") })),
  );
});

test("reads what it writes, in any pieces and with all 64 bits of a dial's number", () => {
  const random = 2n ** 63n - 3n;
  const bytes = Buffer.concat([dialResponse(random, 3), dataPacket(3, Buffer.from("abc"))]);
  const collector = new PacketCollector();
  const packets = [...bytes].flatMap((byte) => collector.push(Buffer.of(byte)));
  expect(packets).toMatchObject([
    { type: PacketType.DIAL_RSP, connectId: 3, random },
    { type: PacketType.DATA, connectId: 3, data: Buffer.from("abc") },
  ]);
});

test("writes HPACK's integers as RFC 7541 has them (C.1)", () => {
  expect(integer(10, 5, 0)).toEqual(Buffer.of(0b01010));
  expect(integer(1337, 5, 0)).toEqual(Buffer.of(0b11111, 0b10011010, 0b1010));
});
