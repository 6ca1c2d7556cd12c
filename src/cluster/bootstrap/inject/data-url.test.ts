import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeDataUrl, encodeDataUrl } from "./data-url.js";

const text = (source: string) => decodeDataUrl(source, "/a").bytes.toString();

test.each([
  ["data:text/plain;charset=utf-8;base64,aGVsbG8=", "hello"],
  ["data:;base64,aGVsbG8=", "hello"],
  ["data:application/octet-stream;base64,aGVsbG8%3D", "hello"],
  ['data:text/x-shellscript;name="a;b";charset=us-ascii,echo%20%24A%2C%0A', "echo $A,\n"],
  ["DATA:,a,b", "a,b"],
  ["data:,gr%C3%BC%c3%9fe ü", "grüße ü"],
  ["data:,", ""],
])("reads %s", (source, expected) => {
  expect(text(source)).toBe(expected);
});

test.each([
  ["http://example.com/a", "is not a data URL"],
  ["data:text/plain;base64", "is not a data URL"],
  ["data:;base64,aGVsbG8", "has broken base64"],
  ["data:;base64,aGVs bG8=", "has broken base64"],
  ["data:;base64,aGVsbG8_", "has broken base64"],
  ["data:,100%", "has a broken percent escape"],
  ["data:,%zz", "has a broken percent escape"],
])("refuses %s", (source, reason) => {
  expect(() => decodeDataUrl(source, "/a")).toThrow(`the content of /a ${reason}`);
});

test("any bytes survive, in either encoding and under the head they came with", () => {
  const head = fc.constantFrom(
    "data:text/plain;base64",
    "data:image/x;a=b;BASE64",
    "data:",
    "data:text/plain;charset=utf-8",
  );
  fc.assert(
    fc.property(head, fc.uint8Array(), (kept, content) => {
      const bytes = Buffer.from(content);
      expect(decodeDataUrl(encodeDataUrl({ head: kept, bytes }), "/a")).toEqual({ head: kept, bytes });
    }),
  );
});
