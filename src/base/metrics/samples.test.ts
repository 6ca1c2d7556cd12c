import { expect, test } from "vitest";
import { samplesOf } from "./samples.js";

const page = `# HELP ready_backends Number
ready_backends{proxy_strategy="defaultRoute"} 2
ready_backends{proxy_strategy="destHost"} 0
tunnels{agent_id="a\\"b\\\\c,d=\\n"} 3
dials_count 41
`;

test("a metric's samples have their values and unescaped labels", () => {
  expect(samplesOf(page, "ready_backends").map(({ value }) => value)).toEqual([2, 0]);
  expect(samplesOf(page, "tunnels")[0]?.labels.get("agent_id")).toBe('a"b\\c,d=\n');
  expect(samplesOf(page, "dials_count")).toEqual([{ labels: new Map(), value: 41 }]);
});

test("a metric that the page does not have has no samples", () => {
  expect(samplesOf(page, "ready")).toEqual([]);
  expect(samplesOf("<html>", "ready_backends")).toEqual([]);
});
