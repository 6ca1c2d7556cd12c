import fc from "fast-check";
import { expect, test } from "vitest";
import { isLabelSelector } from "./label-selector.js";

test.each([
  "",
  "  ",
  "k8s-app=konnectivity-server",
  "a=b,c==d,e!=f",
  "x in (foo,,baz),y,z notin ()",
  "!old",
  "example.com/tier in (a, b) , weight>3",
  "tier  notin\t(a)",
  "a=",
  "a=,b",
  "in in (in, notin)",
])("%j is a selector", (selector) => {
  expect(isLabelSelector(selector)).toBe(true);
});

test.each([
  ...["=x", "a,", "a b", "a=b c", "!a=b", "a in b", "a in (b", "a in (b c)", "-a=b", "Upper.example/a=b"],
  ...[`${"a".repeat(64)}=b`, "a=b/c", "a>x"],
])("%j is not a selector", (selector) => {
  expect(isLabelSelector(selector)).toBe(false);
});

test("arbitrary text never hangs or crashes", () => {
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[ab!=,<>() in]{0,30}$/));
  fc.assert(
    fc.property(text, (selector) => void isLabelSelector(selector)),
    { numRuns: 2_000 },
  );
});
