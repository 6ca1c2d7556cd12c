import { describe, expect, test } from "vitest";
import { goFloat, MetricsRegistry } from "./registry.js";

describe("goFloat", () => {
  test.each([
    [1e-6, "1e-06"],
    [1e-5, "1e-05"],
    [2.5e-10, "2.5e-10"],
    [1e-4, "0.0001"],
    [0.025, "0.025"],
    [12.5, "12.5"],
    [86_400, "86400"],
  ])("%d is %s", (value, text) => {
    expect(goFloat(value)).toBe(text);
  });
});

describe("DurationHistogram", () => {
  test("is printed by the registry as Go prints it, bounds included in their bucket", async () => {
    const registry = new MetricsRegistry();
    const histogram = registry.histogram("walk_seconds", "A walk.", [1e-6, 0.5, 2]);
    for (const seconds of [0.5, 0.25, 3]) histogram.observe(seconds);
    expect(registry.text()).toBe(
      [
        "# HELP walk_seconds A walk.",
        "# TYPE walk_seconds histogram",
        'walk_seconds_bucket{le="1e-06"} 0',
        'walk_seconds_bucket{le="0.5"} 2',
        'walk_seconds_bucket{le="2"} 2',
        'walk_seconds_bucket{le="+Inf"} 3',
        "walk_seconds_sum 3.75",
        "walk_seconds_count 3",
        "",
      ].join("\n"),
    );
  });

  test("keeps one series per set of labels", async () => {
    const registry = new MetricsRegistry();
    const histogram = registry.histogram("walk_seconds", "A walk.", [1]);
    histogram.observe(0.5, { dog: "Rex" });
    histogram.observe(2, { dog: "Rex" });
    histogram.observe(0.5, { dog: "Bello" });
    const text = registry.text();
    expect(text).toContain('walk_seconds_bucket{dog="Rex",le="1"} 1\n');
    expect(text).toContain('walk_seconds_count{dog="Rex"} 2\n');
    expect(text).toContain('walk_seconds_count{dog="Bello"} 1\n');
  });

  test("is not shown before its first observation", async () => {
    const registry = new MetricsRegistry();
    registry.histogram("walk_seconds", "A walk.", [1]);
    expect(registry.text()).toBe("");
  });
});
