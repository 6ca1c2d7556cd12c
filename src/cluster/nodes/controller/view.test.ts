import { describe, expect, test } from "vitest";
import { annotation, type ConfigMap, label, nameOf, pathOf, type Secret } from "../objects.js";
import { clusterMap, makePool, namespace, pullSecret } from "./testing/fixture.js";
import { concernedByConfigMap, concernedBySecret, passInputOf, type View } from "./view.js";

const byPath = <T extends object>(...objects: readonly T[]) =>
  new Map(objects.map((object) => [pathOf(nameOf(object)), object]));
const map = (name: string, labels: Record<string, string> = {}): ConfigMap => ({
  metadata: { name, namespace, labels },
  data: { config: "" },
});
const other = { ...clusterMap, metadata: { ...clusterMap.metadata, name: "other" }, data: { trustBundle: "bundle" } };

const view: View = {
  pools: byPath(
    makePool("a", { config: [{ name: "extra" }] }),
    makePool("b", { clusterName: "other" }),
    makePool("c", { clusterName: "nobody" }),
  ),
  configMaps: byPath<ConfigMap>(clusterMap, other),
  secrets: byPath<Secret>(pullSecret),
};

describe("whom a change concerns", () => {
  test.each([
    ["a document of spec.config", map("extra"), ["a"]],
    ["a cluster", clusterMap, ["a"]],
    ["a trust bundle", map("bundle"), ["b"]],
    ["a cluster that was missing", map("nobody"), ["c"]],
    ["what configures all machines", map("ssh", { [label.coreConfig]: "true" }), ["a", "b", "c"]],
    ["anything else", map("unrelated"), []],
  ])("%s", (_, changed, pools) => {
    expect(concernedByConfigMap(view, changed)).toEqual(pools.map((name) => `${namespace}/${name}`));
  });

  test.each([
    ["a pull secret", "pull-secret", undefined, ["clusters/a"]],
    ["a pool's own, though the pool is gone", "token-x", "clusters/x", ["clusters/x"]],
    ["anything else", "unrelated", undefined, []],
  ])("%s", (_, name, pool, pools) => {
    const annotations = pool === undefined ? {} : { [annotation.nodePool]: pool };
    expect(concernedBySecret(view, { metadata: { name, namespace, annotations } })).toEqual(pools);
  });
});

describe("what a pass sees", () => {
  test("is nothing without the pool", () => expect(passInputOf(view, "clusters/x")).toBeUndefined());

  test("takes for a cluster only what says that it is one", () => {
    expect(passInputOf(view, "clusters/a")?.cluster?.name).toEqual({ namespace, name: "demo" });
    const plain = { ...clusterMap, metadata: { ...clusterMap.metadata, labels: {} } };
    expect(passInputOf({ ...view, configMaps: byPath<ConfigMap>(plain) }, "clusters/a")?.cluster).toBeUndefined();
  });

  test("knows the release of an image by the cluster's map, or else its version", () => {
    const data = { ...clusterMap.data, releases: "registry.example/release:4.18.0: 4.17.3" };
    const mapped = { ...view, configMaps: byPath<ConfigMap>({ ...clusterMap, data }) };
    expect(passInputOf(mapped, "clusters/a")?.release).toEqual({ version: "4.17.3", arch: "multi" });
    expect(passInputOf(view, "clusters/a")?.release).toEqual({ version: "4.18.0", arch: "multi" });
  });
});
