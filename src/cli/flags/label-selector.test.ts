import fc from "fast-check";
import { expect, test } from "vitest";
import { checkLabelSelector } from "./label-selector.js";

test.each([
  "",
  "  ",
  "k8s-app=konnectivity-server",
  "a=b,c==d,e!=f",
  "x in (foo,,baz),y,z notin ()",
  "!old",
  "example.com/tier in (a, b) , weight>3",
  "a=",
  "a=,b",
  "in in (in, notin)",
])("%j is a selector", (selector) => {
  expect(() => checkLabelSelector(selector)).not.toThrow();
});

test.each([
  ["=x", "found '=', expected: identifier"],
  ["a,", "found '', expected: identifier after ','"],
  ["a b", "found 'b', expected: in, notin, =, ==, !=, gt, lt"],
  ["a=b c", "found 'c', expected: ',' or 'end of string'"],
  ["!a=b", "found '=', expected: ',' or 'end of string'"],
  ["a in b", "found 'b', expected: '('"],
  ["a in (b", "found '', expected: ',' or ')'"],
  ["a in (b c)", "found 'c', expected: ',' or ')'"],
  ["-a=b", '"-a" is not a label key'],
  ["Upper.example/a=b", '"Upper.example/a" is not a label key'],
  [`${"a".repeat(64)}=b`, "is not a label key"],
  ["a=b/c", '"b/c" is not a label value'],
  ["a>x", "must be an integer"],
])("%j is refused", (selector, message) => {
  expect(() => checkLabelSelector(selector)).toThrow(message);
});

test("arbitrary text never hangs or crashes", () => {
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[ab!=,<>() in]{0,30}$/));
  fc.assert(
    fc.property(text, (selector) => {
      try {
        expect(checkLabelSelector(selector)).toBeUndefined();
      } catch (error) {
        expect((error as Error).message).toMatch(/expected|is not a label|must be an integer/);
      }
    }),
    { numRuns: 2_000 },
  );
});
