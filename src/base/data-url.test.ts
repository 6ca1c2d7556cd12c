import fc from "fast-check";
import { expect, test } from "vitest";
import { dataUrlOf, readDataUrl } from "./data-url.js";

test.each([
  ["data:text/plain;charset=utf-8;base64,aGVsbG8=", "hello"],
  ["data:;base64,aGVsbG8=", "hello"],
  ['data:text/x-shellscript;name="a;b";charset=us-ascii,echo%20%24A%2C%0A', "echo $A,\n"],
  ["data:,a,b", "a,b"],
  ["data:,gr%C3%BC%c3%9fe", "grüße"],
  ["data:,", ""],
])("the data URL %s is read", (url, expected) => {
  const reading = readDataUrl(url);
  expect(reading.ok && reading.bytes.toString()).toBe(expected);
});

// Ignition refuses each of these (test/interop/ignition/corpus/resources.ts).
test.each([
  ["http://example.com/a", "it does not begin with data:"],
  ["DATA:,a", "it does not begin with data:"],
  ["data:text/plain;base64", "the part before its comma is not a media type with parameters"],
  ["data:;BASE64,aGVsbG8=", "the part before its comma is not a media type with parameters"],
  ["data:text/plain; base64,aGVsbG8=", "the part before its comma is not a media type with parameters"],
  ["data:;base64,aGVsbG8%3D", "its base64 is broken"],
  ["data:;base64,aGVsbG8", "its base64 is broken"],
  ["data:;base64,aGVs bG8=", "its base64 is broken"],
  ["data:;base64,aGVsbG8_", "its base64 is broken"],
  ["data:,gr\u00fc\u00dfe", "a character in it must be escaped"],
  ["data:,a b", "a character in it must be escaped"],
  ["data:,100%", "it has a broken percent escape"],
  ["data:,%zz", "it has a broken percent escape"],
])("the data URL %s is refused", (url, why) => {
  expect(readDataUrl(url)).toEqual({ ok: false, why });
});

test("any bytes survive, in either encoding and under the head they came with", () => {
  const heads = ["data:text/plain;base64", "data:image/x;a=b;base64", "data:", "data:text/plain;charset=utf-8"];
  fc.assert(
    fc.property(fc.constantFrom(...heads), fc.uint8Array(), (head, content) => {
      const bytes = Buffer.from(content);
      expect(readDataUrl(dataUrlOf(bytes, head))).toEqual({ ok: true, head, bytes });
    }),
  );
});
