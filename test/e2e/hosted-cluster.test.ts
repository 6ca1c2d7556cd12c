/**
 * A hosted cluster for real: its etcd, three kube-apiservers, controller-manager and scheduler are pods of a management
 * cluster, its nodes are in another network that lets nobody in (test/support/hosted-cluster/cluster.ts), and the tunnel is
 * made by `drawbridge hosted apply` on a Deployment that its owner keeps with `kubectl apply`. One story, in order.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HostedCluster, PLANE_API } from "../support/hosted-cluster/cluster.js";
import { AGGREGATED_API, HOOK } from "../support/hosted-cluster/workloads.js";
import { equipped, origin } from "../support/lab/equipment.js";
import { configMap } from "../support/lab/objects.js";
import { REFUSE_LABEL } from "../support/lab/webhook/admission.js";

// The pods run what their image has; the lab's is ours whatever the programs under test are.
const ready = origin === "ours" && (await equipped({ bridge: true, balancer: true }));

describe.skipIf(!ready)("a hosted cluster whose control plane is pods", () => {
  let cluster: HostedCluster;
  const hosted = (...args: readonly string[]) => cluster.plane.admin.run(args);
  const create = (name: string, labels = {}) =>
    cluster.plane.admin.try(["create", "-f", "-"], JSON.stringify(configMap(name, HOOK, labels)));

  beforeAll(async () => {
    cluster = await HostedCluster.start({ replicas: 3, workers: 2 });
  });
  afterAll(() => cluster?.stop());

  test("two clusters: neither knows the other's nodes, and the hosted one's kube-apiserver reaches no kubelet", async () => {
    expect(await hosted("get", "nodes", "-oname")).toBe("node/w1\nnode/w2\n");
    expect(await cluster.lab.kubectl("get", "nodes", "-oname")).toBe("node/n1\n");
    const kubelet = await cluster.plane.admin.try(["get", "--raw", "/api/v1/nodes/w1/proxy/healthz"]);
    expect(kubelet).toMatchObject({ code: 1, stderr: expect.stringContaining("192.168.77.11:10250") });
  });

  test("with servers and agents, kubectl logs and exec, the webhook and both aggregated APIs work through the tunnel", async () => {
    const [applied] = await Promise.all([cluster.useTunnel(), cluster.startWorkloads()]);
    expect(applied).toMatchObject({ code: 0, stderr: "" });
    await cluster.workloadsReady();
    expect(await hosted("logs", "daemonset/talker")).toBe("good morning\n");
    expect(await hosted("exec", "daemonset/talker", "--", "echo", "good evening")).toBe("good evening\n");
    expect(await create("through")).toMatchObject({ code: 0, stderr: "" });
    expect((await create("not", { [REFUSE_LABEL]: "yes" })).stderr).toContain("refused by the lab's webhook");
    const [version, ...group] = AGGREGATED_API.split(".");
    for (const api of [`${group.join(".")}/${version}`, `${PLANE_API.group}/${PLANE_API.version}`]) {
      const gauge = await cluster.plane.admin.raw(`/apis/${api}/gauges/first`);
      expect(JSON.parse(gauge)).toMatchObject({ kind: "Gauge", seen: { user: "admin" } });
    }
  });
});
