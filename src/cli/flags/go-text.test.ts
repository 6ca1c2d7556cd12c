import { expect, test } from "vitest";
import { quote, quoteShorthand } from "./go-text.js";

test.each([
  ["plain", '"plain"'],
  ['a"b\\', '"a\\"b\\\\"'],
  ["\x00\x07\n\x7f", '"\\x00\\a\\n\\x7f"'],
  ["héß→🚀", '"héß→🚀"'],
  ["\u00a0\u200b", '"\\u00a0\\u200b"'],
  ["\u{e0001}", '"\\U000e0001"'],
  ["\ud800", '"\ufffd"'],
])("%j in Go's quotes", (text, quoted) => {
  expect(quote(text)).toBe(quoted);
});

test.each([
  ["q", "'q'"],
  ["vx", "'v'"],
  ["'", "'\\''"],
  ['"', "'\"'"],
  ["é", "'Ã'"],
])("shorthand %j is shown as its first byte", (letters, shown) => {
  expect(quoteShorthand(letters)).toBe(shown);
});
