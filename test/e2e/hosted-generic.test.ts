/**
 * The profile generic in a real hosted cluster: its kube-apiserver, a pod of the management cluster, speaks gRPC at the
 * socket of the server beside it, without any certificate or Service for that.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HostedCluster } from "../support/hosted-cluster/cluster.js";
import { NAMESPACE } from "../support/hosted-cluster/objects.js";
import { equipped, origin } from "../support/lab/equipment.js";

// The pods run what their image has; the lab's is ours whatever the programs under test are.
const ready = origin === "ours" && (await equipped({ bridge: true, balancer: true }));

describe.skipIf(!ready)("a hosted cluster with the profile generic", () => {
  let cluster: HostedCluster;

  beforeAll(async () => {
    cluster = await HostedCluster.start();
    cluster.describe({ profile: "generic" });
  });
  afterAll(() => cluster?.stop());

  test("its kube-apiserver reaches a kubelet by the socket in its own pod", async () => {
    const kubelet = () => cluster.plane.admin.try(["get", "--raw", "/api/v1/nodes/w1/proxy/healthz"]);
    expect(await kubelet()).toMatchObject({ code: 1 });
    expect(await cluster.useTunnel()).toMatchObject({ code: 0, stderr: "" });
    // A pod that ends goes on answering for a while, and has no tunnel.
    await cluster.onlyNew();
    expect(await kubelet()).toMatchObject({ code: 0, stdout: "ok" });
    const services = await cluster.lab.kubectl("get", "services", "-n", NAMESPACE, "-oname");
    expect(services).toContain("service/konnectivity-server\n");
    expect(services).not.toContain("konnectivity-server-local");
  });
});
