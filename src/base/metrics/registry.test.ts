import { expect, test } from "vitest";
import { MetricsRegistry } from "./registry.js";

test("families stand in order of their name, and none before its first sample", () => {
  const registry = new MetricsRegistry();
  registry.gauge("zebra_count", "Zebras.", () => 2);
  const seen = registry.counter("animals_total", "Animals seen.", ["kind"]);
  registry.counter("keepers_total", "Keepers.");
  expect(registry.text()).toBe(
    [
      "# HELP keepers_total Keepers.",
      "# TYPE keepers_total counter",
      "keepers_total 0",
      "# HELP zebra_count Zebras.",
      "# TYPE zebra_count gauge",
      "zebra_count 2",
      "",
    ].join("\n"),
  );
  seen.inc({ kind: "ox" });
  seen.inc({ kind: "ox" }, 2);
  seen.inc({ kind: "ass" });
  expect(registry.text()).toMatch(
    /^# HELP animals_total .*\n.*\nanimals_total\{kind="ox"\} 3\nanimals_total\{kind="ass"\} 1\n/,
  );
});

test("what would break a line is escaped", () => {
  const registry = new MetricsRegistry();
  registry.gauge("depth", "one\\two\nthree", () => [
    [{ id: 'a"b\\c\nd' }, Number.NaN],
    [{ id: "e" }, Number.POSITIVE_INFINITY],
  ]);
  expect(registry.text()).toBe(
    [
      "# HELP depth one\\\\two\\nthree",
      "# TYPE depth gauge",
      'depth{id="a\\"b\\\\c\\nd"} NaN',
      'depth{id="e"} +Inf',
      "",
    ].join("\n"),
  );
});

test("counters that several others count are added up", () => {
  const registry = new MetricsRegistry();
  registry.counterRead("bytes_total", "Bytes.", () => [
    [{ segment: "a" }, 3],
    [{ segment: "b" }, 1],
    [{ segment: "a" }, 4],
  ]);
  expect(registry.text()).toContain('bytes_total{segment="a"} 7\nbytes_total{segment="b"} 1\n');
});

test("two families may not share a name", () => {
  const registry = new MetricsRegistry();
  registry.gauge("depth", "How deep.", () => 1);
  expect(() => registry.gauge("depth", "How deep.", () => 2)).toThrow("two families are called depth");
});
