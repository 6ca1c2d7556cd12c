import { describe, expect, test } from "vitest";
import { distinctNames } from "./distinct-names.js";

describe("names in a bounded place", () => {
  test("they stay as they are where they fit", () => {
    expect(distinctNames(["node-1", "node-2"], 6)).toEqual(["node-1", "node-2"]);
  });

  test("a domain that all have goes first", () => {
    const names = [1, 2, 30].map((host) => `ip-10-0-3-${host}.us-central-1.compute.internal`);
    expect(distinctNames(names, 16)).toEqual(["ip-10-0-3-1.us-…", "ip-10-0-3-2.us-…", "ip-10-0-3-30.us…"]);
  });

  test("then the beginning that all have", () => {
    const names = ["a", "b"].map((zone) => `a-very-long-cluster-name-worker-${zone}.example.com`);
    expect(distinctNames(names, 12)).toEqual(["…e-worker-a…", "…e-worker-b…"]);
  });

  test("a name alone loses its middle", () => {
    expect(distinctNames(["kube-controller-manager-7d9f8"], 11)).toEqual(["kube-…7d9f8"]);
  });

  test.each([3, 8, 12, 20, 40])(
    "none is wider than %i, and different ones stay different where there is room",
    (width) => {
      const names = Array.from({ length: 200 }, (_, at) => `node-${1000 + at}.pool-a.us-central-1.compute.internal`);
      const shown = distinctNames(names, width);
      expect(Math.max(...shown.map(({ length }) => length))).toBeLessThanOrEqual(width);
      if (width >= 8) expect(new Set(shown).size).toBe(200);
    },
  );
});
