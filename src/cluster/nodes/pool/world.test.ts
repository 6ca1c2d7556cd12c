import { describe, expect, test } from "vitest";
import { type ConfigMap, controlPlaneNamespace, label } from "../objects.js";
import { poolWith } from "../testing/world.js";
import { expectedCoreConfigs, machineConfigsOf } from "./world.js";

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
  const seen = {
    controlPlane: [
      map("clusters-demo", "ssh", core),
      map("clusters-demo", "off", { [label.coreConfig]: "false" }),
      map("clusters-demo", "tuned", tuning("workers")),
      map("clusters-demo", "tuned-other", tuning("others")),
      map("clusters-demo", "extra"),
    ],
    beside: [map("clusters", "extra"), map("clusters", "unused"), map("clusters", "odd", {}, { other: "x" } as never)],
  };

  test("are found by label, by name, and by the pool they were made for", () => {
    const pool = poolWith({ config: [{ name: "extra" }, { name: "odd" }, { name: "gone" }] });
    expect(machineConfigsOf(pool, seen)).toEqual({
      core: [{ where: "ConfigMap clusters-demo/ssh", text: "ssh\n" }],
      named: [
        { where: "ConfigMap clusters/extra", text: "extra\n" },
        { where: "ConfigMap clusters/odd", text: undefined },
        { where: "ConfigMap clusters/gone", text: undefined },
      ],
      tuning: [{ where: "ConfigMap clusters-demo/tuned", text: "tuned\n" }],
    });
    expect(machineConfigsOf(poolWith({}), seen).named).toEqual([]);
  });

  test.each([
    [false, true, 2],
    [true, true, 3],
    [false, false, 3],
    [true, false, 4],
  ])("mirrors %s, proxy by the operator %s: %i core ones are expected", (mirrors, operator, count) => {
    expect(expectedCoreConfigs({ hasImageContentSources: mirrors, proxyMadeByOperator: operator })).toBe(count);
  });

  test("live in the control plane's namespace, in whose name dots are dashes", () => {
    expect(controlPlaneNamespace({ namespace: "clusters", name: "demo.example.com" })).toBe(
      "clusters-demo-example-com",
    );
  });
});
