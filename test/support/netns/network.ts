import { command } from "./command.js";
import type { Namespace } from "./namespace.js";

/** Joins two namespaces by a cable: a veth pair, both ends up. Interface names have at most 15 characters. */
export async function link(a: Namespace, ifA: string, b: Namespace, ifB: string): Promise<void> {
  const far = ["peer", "name", ifB, "netns", b.name];
  await command("ip", "link", "add", "name", ifA, "netns", a.name, "type", "veth", ...far);
  await Promise.all([linkUp(a, ifA), linkUp(b, ifB)]);
}

/** Makes a bridge inside a namespace and puts the named interfaces of that namespace on it. */
export async function addBridge(namespace: Namespace, name: string, members: readonly string[] = []): Promise<void> {
  await ip(namespace, "link", "add", "name", name, "type", "bridge");
  await linkUp(namespace, name);
  for (const member of members) await ip(namespace, "link", "set", member, "master", name);
}

/** `address` has its prefix length: `10.0.0.1/24`. */
export async function addAddress(namespace: Namespace, device: string, address: string): Promise<void> {
  // Without nodad an IPv6 address is unusable for a second or more; on a cable of our own nobody else can have it.
  const flags = address.includes(":") ? ["nodad"] : [];
  await ip(namespace, "address", "add", address, "dev", device, ...flags);
}

export interface Route {
  readonly via?: string;
  readonly device?: string;
}

/** `destination` is a prefix or `default`. */
export async function addRoute(namespace: Namespace, destination: string, route: Route): Promise<void> {
  const family = (route.via ?? destination).includes(":") ? ["-6"] : [];
  const via = route.via === undefined ? [] : ["via", route.via];
  const device = route.device === undefined ? [] : ["dev", route.device];
  await ip(namespace, ...family, "route", "add", destination, ...via, ...device);
}

/** Pretends that a neighbour answered ARP: frames to it leave, and nobody takes them. */
export async function addNeighbour(ns: Namespace, device: string, address: string, mac: string): Promise<void> {
  await ip(ns, "neighbour", "add", address, "lladdr", mac, "dev", device, "nud", "permanent");
}

async function linkUp(namespace: Namespace, device: string): Promise<void> {
  await ip(namespace, "link", "set", device, "up");
}

async function ip(namespace: Namespace, ...argv: readonly string[]): Promise<void> {
  await command("ip", "-n", namespace.name, ...argv);
}
