import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SessionError } from "./frames.js";
import { decodeHuffman, encodeHeaders, type Header, HeaderDecoder } from "./hpack.js";

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");

describe("Huffman code", () => {
  test.each([
    ["f1e3c2e5f23a6ba0ab90f4ff", "www.example.com"],
    ["a8eb10649cbf", "no-cache"],
    ["25a849e95bb8e8b4bf", "custom-value"],
    ["d07abe941054d444a8200595040b8166e082a62d1bff", "Mon, 21 Oct 2013 20:13:21 GMT"],
    ["", ""],
  ])("reads the specification's example %s", (bytes, text) => {
    expect(decodeHuffman(hex(bytes))).toBe(text);
  });

  test.each(["ffffffff", "1f00"])("refuses %s: an end marker, or padding that is none", (bytes) => {
    expect(() => decodeHuffman(hex(bytes))).toThrow(SessionError);
  });
});

describe("HPACK header blocks", () => {
  test("follow the specification's example of three requests that fill the table", () => {
    const decoder = new HeaderDecoder();
    const common: Header[] = [
      [":method", "GET"],
      [":scheme", "http"],
      [":path", "/"],
      [":authority", "www.example.com"],
    ];
    expect(decoder.decode(hex("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff"))).toEqual(common);
    expect(decoder.decode(hex("8286 84be 5886 a8eb 1064 9cbf"))).toEqual([...common, ["cache-control", "no-cache"]]);
    expect(decoder.decode(hex("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf"))).toEqual([
      [":method", "GET"],
      [":scheme", "https"],
      [":path", "/index.html"],
      [":authority", "www.example.com"],
      ["custom-key", "custom-value"],
    ]);
  });

  test("forget entries when the table is made smaller", () => {
    const decoder = new HeaderDecoder();
    decoder.decode(hex("4003 6162 63 03 646566"));
    expect(decoder.decode(hex("be"))).toEqual([["abc", "def"]]);
    decoder.decode(hex("20"));
    expect(() => decoder.decode(hex("be"))).toThrow("no such header table entry");
  });

  test("that we write are read back, by us", () => {
    const text = fc.string({ unit: "binary-ascii", maxLength: 300 });
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { maxLength: 10 }), (headers) => {
        expect(new HeaderDecoder().decode(encodeHeaders(headers))).toEqual(headers);
      }),
    );
  });

  test.each(["80", "3fe2ff7f", "0085ff", "7fffffffffffff7f", "0004616263"])("refuse %s", (bytes) => {
    expect(() => new HeaderDecoder().decode(hex(bytes))).toThrow(SessionError);
  });

  test("of arbitrary bytes are headers or a SessionError", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 4 }), (blocks) => {
        const decoder = new HeaderDecoder();
        try {
          for (const block of blocks) decoder.decode(Buffer.from(block));
        } catch (error) {
          expect(error).toBeInstanceOf(SessionError);
        }
      }),
      { numRuns: 3000 },
    );
  });
});
