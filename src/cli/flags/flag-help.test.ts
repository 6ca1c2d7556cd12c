import { expect, test } from "vitest";
import { flagUsages } from "./flag-help.js";
import { FlagSet } from "./flag-set.js";
import { boolean, duration, float32, integer, string, stringArray, stringSlice } from "./flag-value.js";
import { parseGoDuration } from "./go-duration.js";

test("pflag's layout: sorted, aligned, zero defaults left out, deprecated flags and aliases not shown", () => {
  const set = new FlagSet();
  set.add("name", string, 'the "one"', "A name.");
  set.add("empty", string, "", "Nothing.");
  set.add("yes", boolean, true, "On.");
  set.add("no", boolean, false, "Off.");
  set.add("v", integer, 4, "How much.", { shorthand: "v" });
  set.add("zero", integer, 0, "Zero.");
  set.add("rate", float32, 1.5, "A rate.");
  set.add("keepalive-time", duration, parseGoDuration("1h"), "A time.");
  set.add("now", duration, 0n, "No time.");
  set.add("list", stringSlice, ["a", "b"], "A list.");
  set.add("listen", stringArray, [], "An array.");
  set.add("old", boolean, true, "Not shown.", { deprecated: "gone" });
  set.alias("second-name", set.add("first-name", string, "", "Once."));
  expect(flagUsages(set.flags)).toBe(
    [
      "      --empty string              Nothing.",
      "      --first-name string         Once.",
      "      --keepalive-time duration   A time. (default 1h0m0s)",
      "      --list strings              A list. (default [a,b])",
      "      --listen stringArray        An array.",
      '      --name string               A name. (default "the \\"one\\"")',
      "      --no                        Off.",
      "      --now duration              No time.",
      "      --rate float32              A rate. (default 1.5)",
      "  -v, --v int                     How much. (default 4)",
      "      --yes                       On. (default true)",
      "      --zero int                  Zero.",
      "",
    ].join("\n"),
  );
});
