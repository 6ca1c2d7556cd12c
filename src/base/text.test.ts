import { expect, test } from "vitest";
import { plainText, printable, safeJson, table, wrapped } from "./text.js";

const EVIL = "a\u001b[2J\u202eb\u2066\tc\r\nd";

test("plain text is one line without control characters, and not endless", () => {
  expect(plainText(EVIL)).toBe("a\ufffd[2J\ufffdb\ufffd c d");
  expect(plainText("abcdef", 3)).toBe("abc...");
});

test("printable text keeps lines and tabs only", () => {
  expect(printable(EVIL)).toBe("a\ufffd[2J\ufffdb\ufffd\tc\ufffd\nd");
});

test("safe JSON means the same and has nothing that a terminal or a page obeys", () => {
  const json = safeJson({ text: `<b>${EVIL}` });
  expect(json).not.toMatch(/[<\p{Cc}\p{Cf}]/u);
  expect(JSON.parse(json)).toEqual({ text: `<b>${EVIL}` });
});

test("a table's columns are as wide as their widest cell", () => {
  expect(
    table([
      ["NAME", "STATE"],
      ["a-long-name", "ok"],
    ]),
  ).toBe("NAME         STATE\na-long-name  ok\n");
});

test("text is wrapped between words, and a longer word has a line of its own", () => {
  expect(wrapped("one two three-and-more four", 8)).toEqual(["one two", "three-and-more", "four"]);
});
