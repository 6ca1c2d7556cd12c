import { writeFileSync } from "node:fs";
import { addAddress, addBridge, type Namespace } from "../../netns/index.js";
import { BOOTSTRAP, Hosts, INFRA, POD_NETWORK } from "../hosts.js";
import { LabProcess } from "../process.js";
import type { Scope } from "../scope.js";
import { toolPath } from "../tools.js";
import { buildKubeadmImages } from "./images.js";
import { KubeadmMachine, writeSystemctl } from "./machine.js";

export interface KubeadmLab {
  /** Of the balancer in front of the control plane's hosts, for the ports 6443 and 8091. */
  readonly address: string;
  readonly podNetwork: string;
  /** A folder that the PATH of a shell on any host begins with. */
  readonly programs: string;
  readonly controlPlane: KubeadmMachine;
  /** For a second host of the control plane. */
  readonly second: KubeadmMachine;
  readonly worker: KubeadmMachine;
}

/** Of the images that kubeadm asks for. */
const ON_EVERY_NODE = ["kube-proxy", "pause"];

/**
 * Three empty hosts with the images that kubeadm asks for. The worker reaches the control plane; in the other direction no
 * connection can be made, and the control plane has no route into the worker's pods.
 */
export async function startKubeadmLab(scope: Scope, version: string): Promise<KubeadmLab> {
  const hosts = await Hosts.make(scope);
  const [node, other] = [await hosts.addNode(), await hosts.addNode()];
  const { bs } = hosts;
  await addBridge(bs, "cni0");
  await addAddress(bs, "cni0", "10.128.0.1/24");
  await bs.run("sysctl", "-qw", "net.ipv4.ip_forward=1");
  await other.namespace.run("ip", "route", "replace", "unreachable", node.podSubnet);
  for (const host of [bs, other.namespace]) await cutOff(host, node.address);
  startBalancer(scope, hosts.infra, [BOOTSTRAP, other.address]);
  const images = await buildKubeadmImages(scope, version);
  const [controlPlane, second, worker] = await Promise.all([
    KubeadmMachine.boot(scope, {
      ...{ name: "control-plane", netns: bs.name, address: BOOTSTRAP },
      ...{ podSubnet: "10.128.0.0/24", podGateway: "10.128.0.1" },
    }),
    KubeadmMachine.boot(scope, { ...other, name: "second", netns: other.namespace.name }),
    KubeadmMachine.boot(scope, { ...node, name: "worker", netns: node.namespace.name }),
  ]);
  for (const [name, archive] of Object.entries(images)) {
    await Promise.all([controlPlane, second].map((host) => host.importImage(archive)));
    if (ON_EVERY_NODE.includes(name)) await worker.importImage(archive);
  }
  return {
    address: INFRA,
    podNetwork: POD_NETWORK,
    programs: writeSystemctl(scope.file("bin")),
    ...{ controlPlane, second, worker },
  };
}

/** No connection from the host to this address. */
async function cutOff(host: Namespace, address: string): Promise<void> {
  const towards = ["-p", "tcp", "--syn", "-d", address];
  await host.run("iptables", "-A", "OUTPUT", ...towards, "-j", "REJECT", "--reject-with", "tcp-reset");
}

/** One address for the kube-apiservers and the servers of all hosts that have one. */
function startBalancer(scope: Scope, { name: netns }: Namespace, backends: readonly string[]): void {
  const file = scope.file("balancer.cfg");
  const listen = (port: number): string => {
    const servers = backends.map((address, index) => `  server s${index} ${address}:${port} check`);
    return [`listen port-${port}`, `  bind ${INFRA}:${port}`, ...servers].join("\n");
  };
  writeFileSync(
    file,
    `defaults
  mode tcp
  balance roundrobin
  option redispatch 1
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  default-server inter 500ms fall 2 rise 1
${listen(6443)}
${listen(8091)}
`,
  );
  LabProcess.start(scope, { name: "balancer", netns, command: [toolPath("haproxy") ?? "haproxy", "-db", "-f", file] });
}
