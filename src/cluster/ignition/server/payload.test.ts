import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { makePayload, payloadTemplate } from "./tokens.js";

const text = '{"ignition":{"version":"3.2.0"},"x":"abc"}';

test("a payload from a template is as long as its parts, has an ETag of its own and unpacks to the same", () => {
  const template = payloadTemplate(text.slice(0, -5), text.slice(-2));
  const [one, other] = [template("abc"), template("abd")];
  expect(one.pieces.join("")).toBe(text);
  expect([one.length, one.usable]).toEqual([text.length, true]);
  expect(gunzipSync(one.compressed).toString()).toBe(text);
  expect([one.etag === template("abc").etag, one.etag === other.etag]).toEqual([true, false]);
});

test.each(["", "{}", "[", '{"ignition":{}}'])("%j is no payload for a machine", (wrong) => {
  expect([makePayload(wrong).usable, payloadTemplate(wrong, "")("").usable]).toEqual([false, false]);
});
