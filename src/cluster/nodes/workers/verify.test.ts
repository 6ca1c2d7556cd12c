import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hastyClock } from "../../../base/testing/hasty-clock.js";
import { KubeApiError } from "../../kube/errors.js";
import { namedPath } from "../../kube/paths.js";
import { makePool, namespace, PoolFixture } from "../controller/testing/fixture.js";
import { annotation } from "../objects.js";
import { NO_SHAPE } from "../providers/settings.js";
import type { NodePod } from "./node.js";
import { MemoryCluster } from "./testing/cluster.js";
import { RecordedProgress, testDeadline } from "./testing/progress.js";
import { awaitWorkers, type VerifyOptions, verifyWorkers } from "./verify.js";
import type { Worker } from "./worker.js";

const hash = "01234567";
const worker = (name: string): Worker => ({
  ...{ name, zone: "", pool: "clusters/workers", provider: "none", hash, ips: [], made: true, ownToken: true },
  ...{ createCommand: [], deleteCommand: [], notBefore: "2030-01-01T00:00:00Z", deadline: "2032-01-01T00:00:00Z" },
  shape: NO_SHAPE,
});

let fixture: PoolFixture;
let cluster: MemoryCluster;
let progress: RecordedProgress;

beforeEach(async () => {
  fixture = new PoolFixture();
  cluster = new MemoryCluster();
  progress = new RecordedProgress();
  const taints = [{ key: "dedicated", effect: "NoSchedule" }];
  await fixture.addObjects(makePool("workers", { nodeLabels: { tier: "front" }, taints }));
  await fixture.change("workers", (pool) => ({
    ...pool,
    metadata: { ...pool.metadata, annotations: { [annotation.currentConfigVersion]: hash } },
  }));
});
afterEach(() => fixture.close());

const options = (change: Partial<VerifyOptions> = {}): VerifyOptions => ({
  clusters: { pools: fixture.api, nodes: cluster.api },
  pool: { namespace, name: "workers" },
  workers: [worker("w-0"), worker("w-1")],
  deadline: testDeadline(progress, { timeoutMs: 5000 }),
  pod: undefined,
  labelsNodes: true,
  ...change,
});

const podKeys = () => [...cluster.objects.keys()].filter((key) => key.includes("/pods/"));

/** What the scheduler and the kubelet do about pods of ours. */
function runPods(status: NodePod["status"] = { phase: "Running" }): void {
  for (const key of podKeys()) cluster.objects.set(key, { ...cluster.objects.get(key), status } as NodePod);
}

describe("verifying", () => {
  test("labels nodes as they join, starts a pod on each and removes it", async () => {
    cluster.putNode("w-0");
    let seen = 0;
    const clock = hastyClock(() => {
      cluster.putNode("w-1", true, cluster.node("w-1") ?? {});
      runPods();
      seen = Math.max(seen, podKeys().length);
    });
    const pod = { namespace: "default", image: "none", on: "all" as const };
    const verdict = await verifyWorkers(options({ pod, deadline: testDeadline(progress, { clock }) }));
    expect(verdict.ok).toBe(true);
    expect(verdict.workers.map((one) => one.pod)).toEqual(["started", "started"]);
    expect([seen, podKeys()]).toEqual([2, []]);
    expect(progress.statuses[0]).toContain(
      "1 of 2 workers are Ready; w-0: a pod was made for it and has not started yet",
    );
  });

  test("asks the scheduler for exactly that node, and tolerates the pool's taints only", async () => {
    cluster.putNode("w-0");
    let made: NodePod | undefined;
    const clock = hastyClock(() => {
      made ??= cluster.objects.get(podKeys()[0] ?? "") as NodePod | undefined;
      runPods();
    });
    const pod = { namespace: "default", image: "none", on: "all" as const };
    await verifyWorkers(options({ pod, workers: [worker("w-0")], deadline: testDeadline(progress, { clock }) }));
    expect(made?.spec).toMatchObject({
      tolerations: [{ key: "dedicated", effect: "NoSchedule", operator: "Exists" }],
      automountServiceAccountToken: false,
      activeDeadlineSeconds: 900,
    });
    expect(JSON.stringify(made?.spec)).toContain(
      '"matchFields":[{"key":"metadata.name","operator":"In","values":["w-0"]}]',
    );
  });

  test("replaces the pod of a killed run, and starts one pod only when that is asked for", async () => {
    for (const name of ["w-0", "w-1"]) cluster.putNode(name);
    cluster.putPod("drawbridge-verify-w-0", "w-0");
    const pod = { namespace: "default", image: "none", on: "one" as const };
    const clock = hastyClock(runPods);
    const verdict = await verifyWorkers(options({ pod, deadline: testDeadline(progress, { clock }) }));
    expect(verdict.workers.map((one) => one.pod)).toEqual(["started", undefined]);
    expect(podKeys()).toEqual([]);
  });

  test.each([
    [{}, "no pod is scheduled on it: the scheduler has reported nothing yet"],
    [
      { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message: "0/2 nodes are available" }] },
      "no pod is scheduled on it: 0/2 nodes are available",
    ],
    [
      {
        phase: "Pending",
        conditions: [{ type: "PodScheduled", status: "True" }],
        containerStatuses: [{ state: { waiting: { reason: "ErrImagePull", message: "not found" } } }],
      },
      "a pod is scheduled on it and does not start: ErrImagePull: not found",
    ],
  ])("says why the pod %j did not start, and removes it all the same", async (status, what) => {
    cluster.putNode("w-0");
    const clock = hastyClock(() => runPods(status));
    const pod = { namespace: "default", image: "none", on: "all" as const };
    const deadline = testDeadline(progress, { clock, timeoutMs: 5000 });
    const verdict = await verifyWorkers(options({ pod, deadline, workers: [worker("w-0")] }));
    expect(verdict.ok).toBe(false);
    expect(verdict.workers[0]?.problem?.message).toBe(what);
    expect(podKeys()).toEqual([]);
  });

  test("labels no node unless it is asked to", async () => {
    for (const name of ["w-0", "w-1"]) cluster.putNode(name);
    const verdict = await verifyWorkers(options({ labelsNodes: false }));
    expect(verdict.workers[1]?.problem?.message).toBe("its node lacks label tier=front, taint dedicated:NoSchedule");
    expect(cluster.writes).toEqual([]);
  });

  test("reports no success from before an outage of the API", async () => {
    cluster.putNode("w-0");
    let waits = 0;
    const clock = hastyClock(() => {
      if (++waits < 2) return;
      cluster.before = () => {
        throw new KubeApiError("the API did not answer", { status: 0 });
      };
    });
    const verdict = await verifyWorkers(options({ deadline: testDeadline(progress, { clock, timeoutMs: 5000 }) }));
    expect(verdict.pool.problems[0]?.message).toBe("the API did not answer");
    cluster.before = () => {
      throw new KubeApiError("the API did not answer", { status: 0 });
    };
    await expect(verifyWorkers(options())).rejects.toThrow("the API did not answer");
  });

  test("does not look for nodes of a hosted cluster among those of its management", async () => {
    const owner = { apiVersion: "hypershift.openshift.io/v1beta1", kind: "HostedCluster", name: "demo", uid: "u" };
    await fixture.change("workers", (pool) => ({ ...pool, metadata: { ...pool.metadata, ownerReferences: [owner] } }));
    await expect(verifyWorkers(options({ clusters: { pools: fixture.api, nodes: fixture.api } }))).rejects.toThrow(
      "give --hosted-kubeconfig",
    );
  });

  test("names the first worker that is late, and what it lacks", async () => {
    cluster.putNode("w-0");
    await expect(awaitWorkers(options())).rejects.toMatchObject({
      code: "DB_WORKERS_WAIT",
      message: expect.stringContaining("w-1 is not Ready after 5 s: nobody has seen it fetch its configuration"),
    });
  });

  test("says that there is no such pool", async () => {
    await fixture.api.delete(namedPath("NodePool", { namespace, name: "workers" }));
    await expect(verifyWorkers(options())).rejects.toThrow("there is no pool clusters/workers");
  });
});
