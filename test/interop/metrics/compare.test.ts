import { describe, expect, test } from "vitest";
import { differences } from "./compare.js";
import { deviations } from "./deviations.js";
import { parsePage } from "./page.js";

const PAGE = `# HELP k_dials Dials, by reason.
# TYPE k_dials counter
k_dials{reason="no_agent",frontend="grpc"} 1
# HELP k_seconds Time.
# TYPE k_seconds histogram
k_seconds_bucket{le="1e-06"} 0
k_seconds_bucket{le="+Inf"} 1
k_seconds_sum 2
k_seconds_count 1
# HELP other_family Not compared.
# TYPE other_family gauge
other_family 4
`;

const compare = (edit: (page: string) => string) =>
  differences(parsePage(PAGE, "k_"), parsePage(edit(PAGE), "k_"), deviations);

describe("the comparison of two pages", () => {
  test.each<[string, (page: string) => string, string[]]>([
    ["the same page", (page) => page, []],
    ["another order of labels", (page) => page.replace(/reason=("\w+"),frontend=("\w+")/, "frontend=$2,reason=$1"), []],
    ["another value", (page) => page.replace("} 1", "} 9"), []],
    ["a family outside the prefix", (page) => page.replace("other_family 4", "other_family 5"), []],
    [
      "another HELP",
      (page) => page.replace("Dials,", "Calls,"),
      ["k_dials: HELP is Calls, by reason., theirs is Dials, by reason."],
    ],
    [
      "another type",
      (page) => page.replace("k_dials counter", "k_dials gauge"),
      ["k_dials: type is gauge, theirs is counter"],
    ],
    [
      "another spelling of a bucket",
      (page) => page.replace("1e-06", "0.000001"),
      ["k_seconds: buckets is 0.000001 +Inf, theirs is 1e-06 +Inf"],
    ],
    [
      "a label less",
      (page) => page.replace(',frontend="grpc"', ""),
      [
        "k_dials: label names is reason, theirs is frontend,reason",
        'k_dials: ours lacks the series {frontend="grpc",reason="no_agent"}',
        'k_dials: only ours has the series {reason="no_agent"} (counter at 1)',
      ],
    ],
    [
      "a family less",
      (page) => page.replace(/# HELP k_dials(.|\n)*?(?=# HELP)/, ""),
      ["k_dials: ours does not have it"],
    ],
    ["a gauge of ours that has not moved", (page) => `${page}# HELP k_open O.\n# TYPE k_open gauge\nk_open 0\n`, []],
    [
      "a counter of ours",
      (page) => `${page}# HELP k_open O.\n# TYPE k_open counter\nk_open 0\n`,
      ["k_open: only ours has it (a counter)"],
    ],
  ])("%s", (_what, edit, expected) => {
    expect(compare(edit)).toEqual(expected);
  });
});
