import { addAddress, addBridge, addRoute, createNamespace, link, type Namespace } from "../netns/index.js";
import type { Scope } from "./scope.js";

/**
 * One machine plays a cluster under construction:
 *
 *   infra   bridge 192.168.66.1/24, the network all hosts share
 *   bs      192.168.66.10   control-plane host; no route into the pod network
 *   n1, n2  192.168.66.11/.12   nodes; each routes one /24 of the pod network and hides pods behind its own address
 *   wh      10.128.1.10   a pod behind n1: webhook, aggregated API
 *   ag      10.128.2.20   a pod behind n2: an agent that lives in the pod network
 */
export const address = {
  infra: "192.168.66.1",
  bs: "192.168.66.10",
  n1: "192.168.66.11",
  n2: "192.168.66.12",
  n1Pods: "10.128.1.1",
  n2Pods: "10.128.2.1",
  wh: "10.128.1.10",
  ag: "10.128.2.20",
} as const;

export const POD_NETWORK = "10.128.0.0/14";
const PLACES = ["infra", "bs", "n1", "n2", "wh", "ag"] as const;
export type Place = (typeof PLACES)[number];

/** The names of the namespaces, by what they play. */
export type Topology = Readonly<Record<Place, string>>;
type Namespaces = Readonly<Record<Place, Namespace>>;

let made = 0;

export async function makeTopology(scope: Scope): Promise<Topology> {
  made += 1;
  const namespaces: Partial<Record<Place, Namespace>> = {};
  for (const place of PLACES) {
    const namespace = await createNamespace(`${made}-${place}`);
    scope.defer(() => namespace.destroy());
    namespaces[place] = namespace;
  }
  const ready = namespaces as Namespaces;
  await joinHosts(ready);
  await joinPod(ready.n1, address.n1Pods, ready.wh, address.wh);
  await joinPod(ready.n2, address.n2Pods, ready.ag, address.ag);
  await ready.bs.run("ip", "route", "add", "unreachable", POD_NETWORK);
  await addRoute(ready.n1, "10.128.2.0/24", { via: address.n2 });
  await addRoute(ready.n2, "10.128.1.0/24", { via: address.n1 });
  return Object.fromEntries(PLACES.map((place) => [place, ready[place].name])) as Record<Place, string>;
}

async function joinHosts({ infra, bs, n1, n2 }: Namespaces): Promise<void> {
  const hosts = [
    [bs, "to-bs", address.bs],
    [n1, "to-n1", address.n1],
    [n2, "to-n2", address.n2],
  ] as const;
  for (const [host, port] of hosts) await link(host, "eth0", infra, port);
  await addBridge(
    infra,
    "br0",
    hosts.map(([, port]) => port),
  );
  await addAddress(infra, "br0", `${address.infra}/24`);
  for (const [host, , own] of hosts) {
    await addAddress(host, "eth0", `${own}/24`);
    await addRoute(host, "default", { via: address.infra });
  }
}

async function joinPod(node: Namespace, gateway: string, pod: Namespace, own: string): Promise<void> {
  await link(pod, "eth0", node, "to-pod");
  await addBridge(node, "cni0", ["to-pod"]);
  await addAddress(node, "cni0", `${gateway}/24`);
  await addAddress(pod, "eth0", `${own}/24`);
  await addRoute(pod, "default", { via: gateway });
  await node.run("sysctl", "-qw", "net.ipv4.ip_forward=1");
  // The hosts' network knows no way back to pods: a pod that leaves the pod network does so as its node.
  const outward = ["-s", `${gateway}/24`, "!", "-d", POD_NETWORK];
  await node.run("iptables", "-t", "nat", "-A", "POSTROUTING", ...outward, "-j", "MASQUERADE");
}
