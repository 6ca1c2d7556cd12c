import { type Hosts, INFRA, type NodeHost } from "../lab/hosts.js";
import { addAddress, addBridge, addRoute, link } from "../netns/index.js";

const NETWORK = "192.168.77.0/24";
/** Also where the pods of the workers find their DNS. */
export const ROUTER = "192.168.77.1";
const HOSTS = "192.168.66.0/24";
/** Of the hosted cluster; nobody in the management cluster knows a way there. */
export const PODS = "10.200.0.0/16";

/**
 * The hosted cluster's own network, behind a router that hides it: its machines reach the management cluster's nodes,
 * and nobody there reaches them.
 *
 *   infra        192.168.77.1    the router, which is 192.168.66.1 to the management cluster
 *   w1, w2, ...  192.168.77.11, .12, ...   workers with the pod networks 10.200.1.0/24, 10.200.2.0/24, ...
 */
export class Workers {
  readonly #hosts: Hosts;
  readonly #made: NodeHost[] = [];

  private constructor(hosts: Hosts) {
    this.#hosts = hosts;
  }

  static async make(hosts: Hosts): Promise<Workers> {
    const { infra } = hosts;
    await addBridge(infra, "br1");
    await addAddress(infra, "br1", `${ROUTER}/24`);
    await infra.run("sysctl", "-qw", "net.ipv4.ip_forward=1");
    await infra.run("iptables", "-t", "nat", "-A", "POSTROUTING", "-s", NETWORK, "-d", HOSTS, "-j", "MASQUERADE");
    const begun = ["-m", "conntrack", "!", "--ctstate", "ESTABLISHED,RELATED"];
    const refused = ["-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset"];
    await infra.run("iptables", "-A", "FORWARD", "!", "-i", "br1", "-d", NETWORK, ...begun, ...refused);
    return new Workers(hosts);
  }

  async add(): Promise<NodeHost> {
    const index = this.#made.length + 1;
    const name = `w${index}`;
    const worker: NodeHost = {
      name,
      namespace: await this.#hosts.addNamespace(name),
      address: `192.168.77.${10 + index}`,
      podSubnet: `10.200.${index}.0/24`,
      podGateway: `10.200.${index}.1`,
    };
    const { namespace, address, podSubnet, podGateway } = worker;
    await link(namespace, "eth0", this.#hosts.infra, `to-${name}`);
    await this.#hosts.infra.run("ip", "link", "set", `to-${name}`, "master", "br1");
    await addAddress(namespace, "eth0", `${address}/24`);
    await addRoute(namespace, "default", { via: ROUTER });
    await addBridge(namespace, "cni0");
    await addAddress(namespace, "cni0", `${podGateway}/24`);
    await namespace.run("sysctl", "-qw", "net.ipv4.ip_forward=1");
    await namespace.run(
      "iptables",
      "-t",
      "nat",
      "-A",
      "POSTROUTING",
      "-s",
      podSubnet,
      "!",
      "-d",
      PODS,
      "-j",
      "MASQUERADE",
    );
    for (const other of this.#made) {
      await addRoute(other.namespace, podSubnet, { via: address });
      await addRoute(namespace, other.podSubnet, { via: other.address });
    }
    this.#made.push(worker);
    return worker;
  }

  /** Lets a machine of the management cluster, and its pods, reach workers and their pods without any tunnel. */
  async openTo({ namespace }: NodeHost): Promise<void> {
    const { infra } = this.#hosts;
    await infra.run("iptables", "-I", "FORWARD", "-i", "br0", "-o", "br1", "-j", "ACCEPT");
    for (const worker of this.#made) {
      await addRoute(infra, worker.podSubnet, { via: worker.address });
      await addRoute(namespace, worker.podSubnet, { via: INFRA });
    }
  }
}
