import { describe, expect, test } from "vitest";
import { type ConfigMap, controlPlaneNamespace, label } from "../objects.js";
import { poolWith } from "../testing/pools.js";
import { machineConfigsOf } from "./input.js";

function map(
  namespace: string,
  name: string,
  labels: Record<string, string> = {},
  data = { config: `${name}\n` },
): ConfigMap {
  return { metadata: { namespace, name, labels }, data };
}

describe("ConfigMaps of a pool", () => {
  const core = { [label.coreConfig]: "true" };
  const tuning = (pool: string) => ({ [label.tuningConfig]: "true", [label.nodePool]: pool });
  const seen = [
    map("clusters", "ssh", core),
    map("clusters", "off", { [label.coreConfig]: "false" }),
    map("clusters", "tuned", tuning("workers")),
    map("clusters", "tuned-other", tuning("others")),
    map("clusters", "extra"),
    map("clusters", "unused"),
    map("clusters", "odd", {}, { other: "x" } as never),
  ];

  test("are found by label, by name, and by the pool they were made for", () => {
    const pool = poolWith({ config: [{ name: "extra" }, { name: "odd" }, { name: "gone" }] });
    const ofAll = { where: "ConfigMap clusters/ssh", text: "ssh\n" };
    const tuned = { where: "ConfigMap clusters/tuned", text: "tuned\n" };
    expect(machineConfigsOf(pool, seen)).toEqual([
      ofAll,
      { where: "ConfigMap clusters/extra", text: "extra\n" },
      { where: "ConfigMap clusters/odd", text: undefined },
      { where: "ConfigMap clusters/gone", text: undefined },
      tuned,
    ]);
    expect(machineConfigsOf(poolWith({}), seen)).toEqual([ofAll, tuned]);
  });

  test("are in the control plane's namespace, in whose name dots are dashes", () => {
    expect(controlPlaneNamespace({ namespace: "clusters", name: "demo.example.com" })).toBe(
      "clusters-demo-example-com",
    );
  });
});
