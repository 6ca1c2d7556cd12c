import { describe, expect, test } from "vitest";
import { clusterMap, makePool, namespace, pullSecret } from "../controller/testing/fixture.js";
import { type ConfigMap, nameOf, pathOf, type Secret } from "../objects.js";
import { passInputOf, type View } from "./input.js";

const byPath = <T extends object>(...objects: readonly T[]) =>
  new Map(objects.map((object) => [pathOf(nameOf(object)), object]));
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

describe("the input of a pass", () => {
  test("is undefined without the pool", () => expect(passInputOf(view, "clusters/x")).toBeUndefined());

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
