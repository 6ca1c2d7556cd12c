/** The lab's host n1 as the only node of a cluster, with a real kubelet, and a pod on it. */
import type { Cluster } from "../cluster.js";
import { startControllerManager } from "../controller-manager.js";
import { component, nodeExecutables } from "../equipment.js";
import { address } from "../topology.js";
import { POD_IMAGE } from "./image.js";
import { type LabNode, startNode } from "./node.js";

const NAME = "n1";

export async function startFirstNode(cluster: Cluster): Promise<LabNode> {
  const { scope, topology } = cluster;
  await startControllerManager(scope, cluster, { executable: component("kube-controller-manager") });
  return await startNode(scope, cluster, {
    name: NAME,
    netns: topology.n1,
    address: address.n1,
    podSubnet: "10.128.1.0/24",
    podGateway: address.n1Pods,
    executables: nodeExecutables(),
  });
}

/** Creates a pod with one container and waits until it is Ready. */
export async function startPodOnFirstNode(
  { admin }: Pick<Cluster, "admin">,
  name: string,
  script: string,
  container: object = {},
): Promise<void> {
  await admin.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      nodeName: NAME,
      terminationGracePeriodSeconds: 0,
      containers: [
        { name: "main", image: POD_IMAGE, imagePullPolicy: "Never", command: ["sh", "-c", script], ...container },
      ],
    },
  });
  await admin.run(["wait", "--for=condition=Ready", "--timeout=110s", `pod/${name}`]);
}
