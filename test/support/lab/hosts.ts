import { addAddress, addBridge, addRoute, createNamespace, link, type Namespace } from "../netns/index.js";
import type { Scope } from "./scope.js";

export const POD_NETWORK = "10.128.0.0/14";
export const INFRA = "192.168.66.1";
export const BOOTSTRAP = "192.168.66.10";

/** A machine that can be a node: it routes one /24 of the pod network and hides pods behind its own address. */
export interface NodeHost {
  readonly name: string;
  readonly namespace: Namespace;
  readonly address: string;
  readonly podSubnet: string;
  readonly podGateway: string;
}

let made = 0;

/**
 * One machine plays the hosts of a cluster under construction:
 *
 *   infra        bridge 192.168.66.1/24, the network all hosts share
 *   bs           192.168.66.10   control-plane host; no route into the pod network
 *   n1, n2, ...  192.168.66.11, .12, ...   nodes with the pod networks 10.128.1.0/24, 10.128.2.0/24, ...
 */
export class Hosts {
  readonly infra: Namespace;
  readonly bs: Namespace;
  readonly nodes: NodeHost[] = [];
  readonly #scope: Scope;
  readonly #serial: number;

  private constructor(scope: Scope, serial: number, infra: Namespace, bs: Namespace) {
    this.#scope = scope;
    this.#serial = serial;
    this.infra = infra;
    this.bs = bs;
  }

  static async make(scope: Scope): Promise<Hosts> {
    made += 1;
    const serial = made;
    const infra = await namespaceIn(scope, `${serial}-infra`);
    const hosts = new Hosts(scope, serial, infra, await namespaceIn(scope, `${serial}-bs`));
    await addBridge(infra, "br0");
    await addAddress(infra, "br0", `${INFRA}/24`);
    await hosts.#join(hosts.bs, "bs", BOOTSTRAP);
    await hosts.bs.run("ip", "route", "add", "unreachable", POD_NETWORK);
    return hosts;
  }

  async addNode(): Promise<NodeHost> {
    const index = this.nodes.length + 1;
    const name = `n${index}`;
    const node: NodeHost = {
      name,
      namespace: await this.addNamespace(name),
      address: `192.168.66.${10 + index}`,
      podSubnet: `10.128.${index}.0/24`,
      podGateway: `10.128.${index}.1`,
    };
    await this.#join(node.namespace, name, node.address);
    await addBridge(node.namespace, "cni0");
    await addAddress(node.namespace, "cni0", `${node.podGateway}/24`);
    await node.namespace.run("sysctl", "-qw", "net.ipv4.ip_forward=1");
    // The hosts' network knows no way back to pods: a pod that leaves the pod network does so as its node.
    const outward = ["-s", node.podSubnet, "!", "-d", POD_NETWORK];
    await node.namespace.run("iptables", "-t", "nat", "-A", "POSTROUTING", ...outward, "-j", "MASQUERADE");
    for (const other of this.nodes) {
      await addRoute(other.namespace, node.podSubnet, { via: node.address });
      await addRoute(node.namespace, other.podSubnet, { via: other.address });
    }
    this.nodes.push(node);
    return node;
  }

  /** A namespace that plays a pod behind a node. */
  async addPod(name: string, node: NodeHost, own: string): Promise<Namespace> {
    const pod = await this.addNamespace(name);
    await link(pod, "eth0", node.namespace, `to-${name}`);
    await node.namespace.run("ip", "link", "set", `to-${name}`, "master", "cni0");
    await addAddress(pod, "eth0", `${own}/24`);
    await addRoute(pod, "default", { via: node.podGateway });
    return pod;
  }

  addNamespace(name: string): Promise<Namespace> {
    return namespaceIn(this.#scope, `${this.#serial}-${name}`);
  }

  async #join(host: Namespace, name: string, own: string): Promise<void> {
    await link(host, "eth0", this.infra, `to-${name}`);
    await this.infra.run("ip", "link", "set", `to-${name}`, "master", "br0");
    await addAddress(host, "eth0", `${own}/24`);
    await addRoute(host, "default", { via: INFRA });
  }
}

async function namespaceIn(scope: Scope, name: string): Promise<Namespace> {
  const namespace = await createNamespace(name);
  scope.defer(() => namespace.destroy());
  return namespace;
}
