import { expect, test } from "vitest";
import { annotation, label } from "../objects.js";
import type { NodePool } from "../pool/node-pool.js";
import { hashOfNode, labelNode, missingSettings, nodeSettingsOf } from "./node.js";
import { MemoryCluster } from "./testing/cluster.js";

const pool: NodePool = {
  metadata: { name: "front" },
  spec: {
    nodeLabels: { tier: "front" },
    taints: [
      { key: "dedicated", value: "front", effect: "NoSchedule" },
      { key: "fragile", effect: "NoExecute" },
    ],
  },
};

test("labelling a node adds the missing labels and taints once and keeps the others", async () => {
  const cluster = new MemoryCluster();
  cluster.putNode("w-0", true, { metadata: { labels: { own: "1", tier: "back" } } });
  const path = "/api/v1/nodes/w-0";
  const taints = [
    { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" },
    { key: "dedicated", value: "old", effect: "NoSchedule" },
  ];
  cluster.objects.set(path, { ...cluster.node("w-0"), spec: { taints } } as object);
  const settings = nodeSettingsOf(pool);
  expect(missingSettings(cluster.node("w-0")!, settings)).toEqual([
    "label tier=front",
    "taint dedicated=front:NoSchedule",
    "taint fragile:NoExecute",
  ]);
  expect(await labelNode(cluster.api, "w-0", settings, "01234567")).toBe(true);
  const { metadata, spec } = cluster.node("w-0")!;
  expect(metadata?.labels).toEqual({ own: "1", tier: "front", [label.nodePool]: "front" });
  expect(spec?.taints).toEqual([taints[0], ...(pool.spec?.taints ?? [])]);
  expect(await labelNode(cluster.api, "w-0", settings, "89abcdef")).toBe(false);
  expect(cluster.writes).toEqual([`update ${path}`]);
  // What it was made with stays, whatever was given to machines since.
  expect(metadata?.annotations?.[annotation.currentConfigVersion]).toBe("01234567");
});

test("labelling a node is repeated when a kubelet writes at the same time", async () => {
  const cluster = new MemoryCluster();
  cluster.putNode("w-0");
  let isFirst = true;
  cluster.before = (verb) => {
    if (verb !== "update" || !isFirst) return;
    isFirst = false;
    cluster.putNode("w-0");
  };
  expect(await labelNode(cluster.api, "w-0", nodeSettingsOf(pool), "")).toBe(true);
  expect(cluster.node("w-0")?.metadata?.labels?.tier).toBe("front");
});

test("a node without settings of its pool misses no label", () => {
  expect(
    missingSettings({ metadata: { name: "w-0" } }, nodeSettingsOf({ metadata: { name: "front" }, spec: {} })),
  ).toEqual([]);
});

test.each([[{ effect: "NoSchedule" }], [{ key: "a", effect: "Never" }], [{ key: "a" }]])(
  "refuses the taint %j",
  (taint) => {
    expect(() => nodeSettingsOf({ metadata: { name: "front" }, spec: { taints: [taint] } })).toThrow(
      "pool front: spec.taints needs a key and an effect",
    );
  },
);

test.each([
  [{}, undefined],
  [{ [annotation.currentConfigVersion]: "01234567" }, "01234567"],
  [{ "machineconfiguration.openshift.io/currentConfig": "rendered-worker-1" }, undefined],
  [
    { "machineconfiguration.openshift.io/currentConfig": "89abcdef", [annotation.currentConfigVersion]: "01234567" },
    "89abcdef",
  ],
])("reads from %j the hash %s", (annotations, hash) => {
  expect(hashOfNode({ metadata: { name: "w-0", annotations } })).toBe(hash);
});
