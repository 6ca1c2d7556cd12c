/** NetworkPolicies that are enforced: without this nodes of the lab take them and do nothing about them. */
import { component } from "../lab/equipment.js";
import { LabProcess } from "../lab/process.js";
import { must } from "../lab/run.js";
import type { Scope } from "../lab/scope.js";

interface PolicyOptions {
  /** An administrator's. */
  readonly kubeconfig: string;
  /** The node whose pods are protected, and its network. */
  readonly node: string;
  readonly netns: string;
}

/** Packets of connections that no policy allowed. */
interface Refused {
  readonly from: string;
  readonly to: string;
  readonly port: number;
  readonly packets: number;
}

export interface Policies {
  /** Everything that was refused since the start; empty where the policies cut nobody off. */
  refused(): Promise<Refused[]>;
}

const TABLE = "lab-policies";

/**
 * kube-router rejects by an ICMP message that begins with the packet's own headers, and forgets its counters whenever
 * something changes; so the messages are counted. Offsets are in bits of them: protocol, addresses, the target's port.
 */
const counting = `
table ip ${TABLE} {
  set refused {
    typeof @th,160,32 . @th,192,32 . @th,240,16
    flags dynamic
    counter
  }
  chain output {
    type filter hook output priority 0
    icmp type destination-unreachable icmp code port-unreachable @th,136,8 6 \\
      update @refused { @th,160,32 . @th,192,32 . @th,240,16 }
  }
}
`;

/** Enforces the cluster's NetworkPolicies on one node by kube-router's firewall, which is all of kube-router that runs. */
export async function startPolicies(scope: Scope, { kubeconfig, node, netns }: PolicyOptions): Promise<Policies> {
  await must(["nft", "-f", "-"], { netns, input: counting });
  const only = ["--run-firewall", "--run-router=false", "--run-service-proxy=false", "--health-port=0", "--v=1"];
  const running = LabProcess.start(scope, {
    name: `policies-${node}`,
    netns,
    command: [component("kube-router"), `--kubeconfig=${kubeconfig}`, `--hostname-override=${node}`, ...only],
  });
  await running.ready("enforcing", 60_000, async () => running.log().includes("sync iptables took"));
  return {
    refused: async () => readRefused(await must(["nft", "-j", "list", "set", "ip", TABLE, "refused"], { netns })),
  };
}

interface Element {
  readonly elem: {
    readonly val: { readonly concat: readonly number[] };
    readonly counter: { readonly packets: number };
  };
}

function readRefused(text: string): Refused[] {
  const { nftables } = JSON.parse(text) as { nftables: readonly { set?: { elem?: readonly Element[] } }[] };
  const elements = nftables.flatMap(({ set }) => set?.elem ?? []);
  return elements.map(({ elem: { val, counter } }) => {
    const [from = 0, to = 0, port = 0] = val.concat;
    return { from: dotted(from), to: dotted(to), port, packets: counter.packets };
  });
}

const dotted = (address: number): string => [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
