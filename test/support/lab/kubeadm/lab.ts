import { addAddress, addBridge } from "../../netns/index.js";
import { BOOTSTRAP, Hosts, POD_NETWORK } from "../hosts.js";
import type { Scope } from "../scope.js";
import { buildKubeadmImages } from "./images.js";
import { KubeadmMachine, writeSystemctl } from "./machine.js";

export interface KubeadmLab {
  /** Of the control plane. */
  readonly address: string;
  readonly podNetwork: string;
  /** A folder that the PATH of a shell on either host begins with. */
  readonly programs: string;
  readonly controlPlane: KubeadmMachine;
  readonly worker: KubeadmMachine;
}

/** Of the images that kubeadm asks for. */
const ON_EVERY_NODE = ["kube-proxy", "pause"];

/**
 * Two empty hosts with the images that kubeadm asks for. The worker reaches the control plane; in the other direction no
 * connection can be made, and the control plane has no route into the worker's pods.
 */
export async function startKubeadmLab(scope: Scope, version: string): Promise<KubeadmLab> {
  const hosts = await Hosts.make(scope);
  const node = await hosts.addNode();
  const { bs } = hosts;
  await addBridge(bs, "cni0");
  await addAddress(bs, "cni0", "10.128.0.1/24");
  await bs.run("sysctl", "-qw", "net.ipv4.ip_forward=1");
  const toWorker = ["-p", "tcp", "--syn", "-d", node.address];
  await bs.run("iptables", "-A", "OUTPUT", ...toWorker, "-j", "REJECT", "--reject-with", "tcp-reset");
  const images = await buildKubeadmImages(scope, version);
  const [controlPlane, worker] = await Promise.all([
    KubeadmMachine.boot(scope, {
      ...{ name: "control-plane", netns: bs.name, address: BOOTSTRAP },
      ...{ podSubnet: "10.128.0.0/24", podGateway: "10.128.0.1" },
    }),
    KubeadmMachine.boot(scope, {
      ...{ name: "worker", netns: node.namespace.name, address: node.address },
      ...{ podSubnet: node.podSubnet, podGateway: node.podGateway },
    }),
  ]);
  for (const [name, archive] of Object.entries(images)) {
    await controlPlane.importImage(archive);
    if (ON_EVERY_NODE.includes(name)) await worker.importImage(archive);
  }
  return {
    address: BOOTSTRAP,
    podNetwork: POD_NETWORK,
    programs: writeSystemctl(scope.file("bin")),
    controlPlane,
    worker,
  };
}
