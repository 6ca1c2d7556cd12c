/**
 * A hosted cluster for real: its etcd, kube-apiserver, controller-manager and scheduler are pods of a management cluster,
 * its node is in another network that lets nobody in (test/support/hosted-cluster/cluster.ts), and the tunnel is made by
 * `drawbridge hosted apply` on a Deployment that its owner keeps with `kubectl apply`. One story, in order.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HostedCluster } from "../support/hosted-cluster/cluster.js";
import { NAMESPACE } from "../support/hosted-cluster/objects.js";
import { equipped, origin } from "../support/lab/equipment.js";
import { POD_IMAGE } from "../support/lab/node/image.js";

// The pods run what their image has; the lab's is ours whatever the programs under test are.
const ready = origin === "ours" && (await equipped({ bridge: true }));

const TALKER = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "talker", namespace: "default" },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: "talker", image: POD_IMAGE, command: ["sh", "-c", "echo good morning; exec sleep 86400"] }],
  },
};

describe.skipIf(!ready)("a hosted cluster whose control plane is pods", () => {
  let cluster: HostedCluster;
  const hosted = (...args: readonly string[]) => cluster.plane.admin.run(args);
  const logs = () => cluster.plane.admin.try(["logs", "talker"]);

  beforeAll(async () => {
    cluster = await HostedCluster.start();
    await cluster.plane.admin.apply(TALKER);
    await hosted("wait", "--for=condition=Ready", "--timeout=60s", "pod/talker");
  });
  afterAll(() => cluster?.stop());

  test("two clusters: neither knows the other's nodes, and the hosted one's kube-apiserver reaches no kubelet", async () => {
    expect(await hosted("get", "nodes", "-oname")).toBe("node/w1\n");
    expect(await cluster.lab.kubectl("get", "nodes", "-oname")).toBe("node/n1\n");
    const apps = await cluster.lab.kubectl(
      "get",
      "pods",
      "-n",
      NAMESPACE,
      "-ojsonpath={.items[*].metadata.labels.app}",
    );
    expect(apps.split(" ").toSorted()).toEqual(["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"]);
    expect(await logs()).toMatchObject({ code: 1, stderr: expect.stringContaining("192.168.77.11:10250") });
  });

  test("with a server beside the kube-apiserver and no agent, it is the server that refuses", async () => {
    expect(await cluster.useTunnel()).toMatchObject({ code: 0, stderr: "" });
    const refused = "proxy error from konnectivity-server-local:8090 while dialing 192.168.77.11:10250, code 500";
    expect(await logs()).toMatchObject({ code: 1, stderr: expect.stringContaining(refused) });
  });

  test("with agents on the hosted cluster's node, kubectl logs and exec work through the tunnel", async () => {
    expect(await cluster.run("apply", cluster.both)).toMatchObject({ code: 0, stderr: "" });
    await hosted("rollout", "status", "-n", "kube-system", "daemonset/konnectivity-agent", "--timeout=110s");
    expect(await hosted("logs", "talker")).toBe("good morning\n");
    expect(await hosted("exec", "talker", "--", "echo", "good evening")).toBe("good evening\n");
  });
});
