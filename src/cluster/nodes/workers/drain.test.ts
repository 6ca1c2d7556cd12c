import { beforeEach, describe, expect, test } from "vitest";
import { hastyClock } from "../../../base/testing/hasty-clock.js";
import { KubeApiError } from "../../kube/errors.js";
import { cordon, drain, type NodePod, requireDrainable, sortPods } from "./node.js";
import { MemoryCluster } from "./testing/cluster.js";
import { RecordedProgress, testDeadline } from "./testing/progress.js";

const strict = { force: false, deleteEmptyDirData: false };
const owned = (kind: string) => [{ kind, name: "some", controller: true }];

const pod = (change: Partial<NodePod>): NodePod => ({
  ...change,
  metadata: { name: "p", namespace: "n", ownerReferences: owned("ReplicaSet"), ...change.metadata },
});

const scratch: NonNullable<NodePod["spec"]> = { volumes: [{ name: "tmp", emptyDir: {} }] };

describe("which pods leave", () => {
  test.each<[string, NodePod, typeof strict, "leaves" | "stays" | string]>([
    ["one that is started elsewhere", pod({}), strict, "leaves"],
    ["a DaemonSet's", pod({ metadata: { ownerReferences: owned("DaemonSet") } }), strict, "stays"],
    [
      "a DaemonSet's that is over",
      pod({ metadata: { ownerReferences: owned("DaemonSet") }, status: { phase: "Failed" } }),
      strict,
      "leaves",
    ],
    ["the kubelet's own", pod({ metadata: { annotations: { "kubernetes.io/config.mirror": "x" } } }), strict, "stays"],
    ["one of nobody", pod({ metadata: { ownerReferences: [] } }), strict, "n/p would not be started elsewhere"],
    [
      "one whose owner does not control it",
      pod({ metadata: { ownerReferences: [{ kind: "Node", name: "x" }] } }),
      strict,
      "n/p would not be started elsewhere",
    ],
    ["one of nobody, by force", pod({ metadata: { ownerReferences: [] } }), { ...strict, force: true }, "leaves"],
    [
      "one of nobody that is over",
      pod({ metadata: { ownerReferences: [] }, status: { phase: "Succeeded" } }),
      strict,
      "leaves",
    ],
    ["one with scratch space", pod({ spec: scratch }), strict, "n/p would lose its scratch space"],
    ["one with scratch space, allowed", pod({ spec: scratch }), { ...strict, deleteEmptyDirData: true }, "leaves"],
    [
      "one of nobody with scratch space, by force only",
      pod({ metadata: { ownerReferences: [] }, spec: scratch }),
      { ...strict, force: true },
      "n/p would lose its scratch space",
    ],
  ])("%s", (_, one, rules, outcome) => {
    const { leave, obstacles } = sortPods([one], rules);
    if (outcome === "leaves" || outcome === "stays") {
      expect([leave.length, obstacles]).toEqual([outcome === "leaves" ? 1 : 0, []]);
    } else expect(obstacles[0]).toContain(outcome);
  });
});

describe("draining", () => {
  let cluster: MemoryCluster;
  let progress: RecordedProgress;
  beforeEach(() => {
    cluster = new MemoryCluster();
    progress = new RecordedProgress();
    cluster.putNode("w-0");
    cluster.putNode("w-1");
  });
  const drained = (change: Parameters<typeof testDeadline>[1] = {}, name = "w-0") =>
    drain(cluster.api, cluster.node(name)!, strict, testDeadline(progress, change));

  test("reports the pods that prevent it before anything is changed", async () => {
    for (const name of ["a", "b", "c", "d", "e", "f"])
      cluster.putPod(name, "w-0", { metadata: { ownerReferences: [] } });
    await expect(requireDrainable(cluster.api, ["w-0", "w-1"], strict)).rejects.toThrow(
      /^pods prevent it: default\/a would not .*; and 1 more$/,
    );
    expect(cluster.writes).toEqual([]);
    await requireDrainable(cluster.api, ["w-1"], strict);
  });

  test("cordons a node once", async () => {
    expect((await cordon(cluster.api, "w-0"))?.spec?.unschedulable).toBe(true);
    await cordon(cluster.api, "w-0");
    expect(cluster.writes).toEqual(["update /api/v1/nodes/w-0"]);
    expect(await cordon(cluster.api, "w-9")).toBeUndefined();
  });

  test("evicts each pod once, of this node only, and waits until they are gone", async () => {
    cluster.putPod("web", "w-0");
    cluster.putPod("slow", "w-0");
    cluster.putPod("other", "w-1");
    cluster.lingering.add("slow");
    const clock = hastyClock(() => cluster.objects.delete("/api/v1/namespaces/default/pods/slow"));
    await drained({ clock });
    expect(cluster.writes.filter((write) => write.includes("slow"))).toHaveLength(1);
    expect(cluster.has("other")).toBe(true);
    expect(progress.logged).toEqual(["w-0: default/web is evicted", "w-0: default/slow is evicted"]);
  });

  test("waits while a disruption budget forbids the eviction, and says so", async () => {
    cluster.putPod("web", "w-0");
    cluster.held.add("web");
    let waits = 0;
    await drained({ clock: hastyClock(() => ++waits === 3 && cluster.held.clear()) });
    expect(cluster.has("web")).toBe(false);
    expect(progress.statuses[0]).toContain("pods left: 1; default/web: Cannot evict pod");
  });

  test("ends at its deadline with the disruption budget's message", async () => {
    cluster.putPod("web", "w-0");
    cluster.held.add("web");
    await expect(drained({ timeoutMs: 3000 })).rejects.toMatchObject({
      code: "DB_WORKERS_DRAIN",
      message: expect.stringMatching(/^w-0 could not be drained in time: default\/web: Cannot evict pod/),
    });
    expect(cluster.has("web")).toBe(true);
  });

  test("does not wait for pods of a kubelet that does not answer", async () => {
    cluster.putNode("w-0", false);
    cluster.putPod("web", "w-0");
    cluster.lingering.add("web");
    await drained();
    expect(progress.logged).toEqual(["w-0: default/web is evicted"]);
  });

  test("goes on after an outage of the API", async () => {
    cluster.putPod("web", "w-0");
    let calls = 0;
    cluster.before = (verb) => {
      if (verb === "create" && ++calls < 3) throw new KubeApiError("no answer", { status: 0 });
    };
    await drained();
    expect(cluster.has("web")).toBe(false);
    expect(progress.statuses).toContain("draining w-0: no answer");
  });

  test("stops at a new pod that nothing would start elsewhere", async () => {
    cluster.putPod("web", "w-0");
    cluster.held.add("web");
    const clock = hastyClock(() => cluster.putPod("stray", "w-0", { metadata: { ownerReferences: [] } }));
    await expect(drained({ clock })).rejects.toThrow("default/stray would not be started elsewhere");
  });
});
