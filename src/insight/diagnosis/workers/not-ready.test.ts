import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { collectionPath } from "../../../cluster/kube/paths.js";
import type { Pod } from "../../../cluster/kube/pods.js";
import type { KubeObject } from "../../../cluster/kube/port.js";
import { IgnitionSource } from "../../../cluster/nodes/simulate/testing/source.js";
import { PoolFixture } from "../testing/pool-fixture.js";

const source = await IgnitionSource.start();
let fixture: PoolFixture;
beforeEach(async () => {
  fixture = await PoolFixture.open(source);
  fixture.isHosted = true;
  await fixture.worker("w-0");
  const node: KubeObject = { apiVersion: "v1", kind: "Node", metadata: { name: "w-0" } };
  const made = await fixture.hosted.create(collectionPath("Node"), node);
  await fixture.hosted.update(`${collectionPath("Node")}/w-0/status`, {
    ...made,
    status: { conditions: [{ type: "Ready", status: "False", reason: "KubeletNotReady", message: KUBELETS_WORDS }] },
  } as KubeObject);
});
afterEach(() => fixture.close());

const KUBELETS_WORDS =
  "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: No CNI configuration file in /etc/kubernetes/cni/net.d/. Has your network provider started?";

const hostPath = (name: string, path: string) => ({ name, hostPath: { path } });

/** As cluster-network-operator's DaemonSets make them: bindata/network/ovn-kubernetes/managed and bindata/network/multus. */
const ovnkubeNode: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "ovnkube-node-7xk2p", namespace: "openshift-ovn-kubernetes", labels: { app: "ovnkube-node" } },
  spec: {
    nodeName: "w-0",
    volumes: [
      hostPath("run-ovn", "/var/run/ovn-ic"),
      hostPath("host-cni-bin", "/var/lib/cni/bin"),
      hostPath("host-cni-netd", "/var/run/multus/cni/net.d"),
      { name: "ovn-node-metrics-cert", secret: { secretName: "ovn-node-metrics-cert", optional: true } },
    ],
  },
  status: {
    phase: "Running",
    conditions: [{ type: "Ready", status: "False" }],
    containerStatuses: [
      { name: "ovn-controller", restartCount: 0, state: { running: {} } },
      {
        ...{ name: "ovnkube-controller", restartCount: 7, lastState: { terminated: { exitCode: 1, reason: "Error" } } },
        state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 5m0s restarting failed container" } },
      },
    ],
  },
};

const multus: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "multus-l9d4w", namespace: "openshift-multus", labels: { app: "multus" } },
  spec: {
    nodeName: "w-0",
    volumes: [hostPath("system-cni-dir", "/etc/kubernetes/cni/net.d"), hostPath("cnibin", "/var/lib/cni/bin")],
  },
  status: {
    phase: "Pending",
    containerStatuses: [{ name: "kube-multus", state: { waiting: { reason: "ContainerCreating" } } }],
  },
};

const event = (pod: Pod, reason: string, message: string, lastTimestamp: string): KubeObject =>
  ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${pod.metadata?.name}.${lastTimestamp}`, namespace: pod.metadata?.namespace },
    involvedObject: { kind: "Pod", name: pod.metadata?.name, namespace: pod.metadata?.namespace },
    ...{ type: "Warning", reason, message, count: 1, lastTimestamp },
  }) as KubeObject;

async function make(...objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    await fixture.hosted.create(collectionPath(object.kind as "Pod", object.metadata?.namespace), object);
  }
}

const evidence = async () => (await fixture.problems()).find(({ code }) => code === "DB_NODE_NOT_READY")?.evidence;

describe("a node that is not Ready", () => {
  test("is explained by its kubelet, by the containers of its network's pods and by the last warning about each", async () => {
    await make(
      ...[ovnkubeNode, multus],
      event(multus, "FailedMount", 'configmap "multus-daemon-config" not found', "2031-01-01T00:02:00Z"),
      event(multus, "NodeNotReady", "Node is not ready", "2031-01-01T00:01:00Z"),
      { ...event(multus, "Scheduled", "assigned", "2031-01-01T00:03:00Z"), type: "Normal" } as KubeObject,
    );
    expect(await evidence()).toEqual([
      `KubeletNotReady: ${KUBELETS_WORDS}`,
      "pod openshift-ovn-kubernetes/ovnkube-node-7xk2p: container ovnkube-controller waits: CrashLoopBackOff, 7 restarts, ended with 1 before: back-off 5m0s restarting failed container",
      'pod openshift-multus/multus-l9d4w: FailedMount: configmap "multus-daemon-config" not found',
    ]);
  });

  test("is explained by nothing on other nodes, nor by pods that have nothing to do with its network", async () => {
    const elsewhere = { ...ovnkubeNode, spec: { ...ovnkubeNode.spec, nodeName: "w-1" } };
    const webServer = { ...multus, spec: { nodeName: "w-0", volumes: [hostPath("data", "/srv")] } };
    await make(elsewhere, webServer);
    expect((await evidence())?.slice(1)).toEqual(["no pod on it provides a network: none mounts a directory of CNI"]);
  });

  test("has a network that runs, when its pods do", async () => {
    await make({ ...multus, status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } } as Pod);
    expect((await evidence())?.slice(1)).toEqual([
      "the pods that provide its network are Ready: openshift-multus/multus-l9d4w",
    ]);
  });

  test("is explained as far as this user may read", async () => {
    await make(ovnkubeNode, { ...multus, status: { phase: "Pending" } } as Pod);
    const { list } = fixture.hosted;
    const forbid = (what: string) => {
      fixture.hosted.list = async (path, options) => {
        if (path.endsWith(what)) throw new Error(`${what} is forbidden`);
        return list(path, options);
      };
    };
    forbid("/events");
    expect((await evidence())?.at(-1)).toBe(
      "pod openshift-multus/multus-l9d4w: its events could not be read: /events is forbidden",
    );
    forbid("/pods");
    expect((await evidence())?.at(-1)).toBe("its pods could not be read: /pods is forbidden");
  });
});
