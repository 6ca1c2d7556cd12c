import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { dataUrlOf } from "../../base/data-url.js";
import { inlineContent } from "./resource.js";

const text = Buffer.from("content with \u00fc\n");
const hash = (algorithm: string, bytes: Buffer) => `${algorithm}-${createHash(algorithm).update(bytes).digest("hex")}`;
const packed = `data:;base64,${gzipSync(text).toString("base64")}`;

test.each([
  ["base64", { source: dataUrlOf(text) }],
  ["percent escapes", { source: "data:,content%20with%20%C3%BC%0A" }],
  ["a hash", { source: dataUrlOf(text), verification: { hash: hash("sha512", text) } }],
  ["gzip, hashed unpacked", { source: packed, compression: "gzip", verification: { hash: hash("sha256", text) } }],
  [
    "a hash in capitals",
    { source: dataUrlOf(text), verification: { hash: `sha256-${hash("sha256", text).slice(7).toUpperCase()}` } },
  ],
])("inlineContent gives the bytes of %s", (_, resource) => {
  expect(inlineContent(resource, "it").equals(text)).toBe(true);
});

test("a resource without a source is empty", () => {
  expect(inlineContent({}, "it")).toHaveLength(0);
});

test.each([
  ["another hash", { source: "data:,x", verification: { hash: hash("sha512", text) } }, "it does not have the hash"],
  [
    "a hash of the packed bytes",
    { source: packed, compression: "gzip", verification: { hash: hash("sha512", gzipSync(text)) } },
    "it does not have the hash",
  ],
  ["what is no gzip", { source: "data:,x", compression: "gzip" }, "it is broken gzip"],
  [
    "a bomb",
    { source: `data:;base64,${gzipSync(Buffer.alloc(50 * 1024 * 1024 + 1)).toString("base64")}`, compression: "gzip" },
    "it is larger than 50 MiB",
  ],
  ["what is elsewhere", { source: "https://a.example" }, "it is not in the config but has to be fetched"],
  ["a broken data URL", { source: "data:;base64,x" }, "it cannot be read: its base64 is broken"],
])("inlineContent refuses %s", (_, resource, sentence) => {
  expect(() => inlineContent(resource, "it")).toThrow(
    expect.objectContaining({ code: "DB_IGNITION_RESOURCE", message: expect.stringContaining(sentence) }),
  );
});
