import { BOOTSTRAP, Hosts } from "./hosts.js";
import type { Scope } from "./scope.js";

/**
 * The hosts of a cluster (hosts.ts) with two nodes, and namespaces that play pods behind them:
 *
 *   wh   10.128.1.10   behind n1: webhook, aggregated API
 *   ag   10.128.2.20   behind n2: an agent that lives in the pod network
 */
export const address = {
  infra: "192.168.66.1",
  bs: BOOTSTRAP,
  n1: "192.168.66.11",
  n2: "192.168.66.12",
  n1Pods: "10.128.1.1",
  n2Pods: "10.128.2.1",
  wh: "10.128.1.10",
  ag: "10.128.2.20",
} as const;

export type Place = "infra" | "bs" | "n1" | "n2" | "wh" | "ag";

/** The names of the namespaces, by what they play. */
export type Topology = Readonly<Record<Place, string>>;

export async function makeTopology(scope: Scope): Promise<Topology> {
  const hosts = await Hosts.make(scope);
  const [n1, n2] = [await hosts.addNode(), await hosts.addNode()];
  const [wh, ag] = [await hosts.addPod("wh", n1, address.wh), await hosts.addPod("ag", n2, address.ag)];
  return {
    infra: hosts.infra.name,
    bs: hosts.bs.name,
    n1: n1.namespace.name,
    n2: n2.namespace.name,
    wh: wh.name,
    ag: ag.name,
  };
}
