/** Hosts that filter for themselves: nftables, firewalld and iptables. Each removal takes only what is marked as ours. */
import { isIPv6, lines, MARK, type PlanStep, type PlatformPlan, type PlatformPlanInput } from "../plan.js";

export function hostPlan(asked: PlatformPlanInput): PlatformPlan {
  const { machineNetworks, rule } = asked;
  return {
    where: "the packet filter of the host that runs the proxy-server",
    sources: machineNetworks,
    opened: [{ by: "you", what: "with one of the three, whichever the host uses" }],
    removed: [{ by: "you", what: "with the same one; none of them survives a restart of the host" }],
    forgotten: [`The rule marked ${MARK}, until the removal is run or the host restarts.`],
    open: [
      nftables(machineNetworks, rule.port).open,
      firewalld(machineNetworks, rule.port).open,
      iptables(machineNetworks, rule.port).open,
    ],
    remove: [
      nftables(machineNetworks, rule.port).remove,
      firewalld(machineNetworks, rule.port).remove,
      iptables(machineNetworks, rule.port).remove,
    ],
    notes: [
      "firewalld owns its own nftables table: on a host with firewalld use firewall-cmd.",
      "The bridge's agents prove themselves with client certificates; the filter only keeps strangers from trying.",
    ],
  };
}

interface Pair {
  readonly open: PlanStep;
  readonly remove: PlanStep;
}

/**
 * An accept in one table does not overrule a drop in another, so the rule goes to the top of every chain that filters
 * what comes in.
 */
export function nftables(networks: readonly string[], port: number): Pair {
  const families = [
    ["ip", networks.filter((network) => !isIPv6(network))],
    ["ip6", networks.filter(isIPv6)],
  ] as const;
  const clear = [
    "nft -j list ruleset |",
    `  jq -r '.nftables[].rule? // empty | select(.comment == "${MARK}") | "\\(.family) \\(.table) \\(.chain) \\(.handle)"' |`,
    "  while read -r family table chain handle; do",
    '    nft delete rule "$family" "$table" "$chain" handle "$handle"',
    "  done",
  ];
  const insert = families.flatMap(([family, prefixes]) => {
    if (prefixes.length === 0) return [];
    const match = `${family} saddr { ${prefixes.join(", ")} } tcp dport ${port} accept comment \\"${MARK}\\"`;
    return [`    case $family in inet | ${family}) nft insert rule "$family" "$table" "$chain" "${match}" ;; esac`];
  });
  return {
    open: {
      title: "nftables: let nodes in, in every chain that filters incoming packets (safe to repeat)",
      language: "shell",
      text: lines(
        clear,
        "nft -j list chains |",
        `  jq -r '.nftables[].chain? // empty | select(.hook == "input" and .type == "filter") | "\\(.family) \\(.table) \\(.name)"' |`,
        "  while read -r family table chain; do",
        insert,
        "  done",
      ),
    },
    remove: { title: "nftables: take the rules away", language: "shell", text: lines(clear) },
  };
}

export function firewalld(networks: readonly string[], port: number): Pair {
  const rules = networks.map((network) => {
    const family = isIPv6(network) ? "ipv6" : "ipv4";
    return `rule family="${family}" source address="${network}" port port="${port}" protocol="tcp" accept`;
  });
  const each = (verb: string) => rules.map((rule) => `firewall-cmd --${verb}-rich-rule='${rule}'`);
  return {
    open: {
      title: "firewalld: let nodes in until the next reload or restart",
      language: "shell",
      text: lines(each("add")),
    },
    remove: { title: "firewalld: take the rules away", language: "shell", text: lines(each("remove")) },
  };
}

export function iptables(networks: readonly string[], port: number): Pair {
  const rules = networks.map((network) => {
    const program = isIPv6(network) ? "ip6tables" : "iptables";
    return [program, `-s ${network} -p tcp --dport ${port} -m comment --comment ${MARK} -j ACCEPT`] as const;
  });
  const insert = rules.map(
    ([program, rule]) => `${program} -w -C INPUT ${rule} 2>/dev/null || ${program} -w -I INPUT ${rule}`,
  );
  const remove = rules.map(([program, rule]) => `while ${program} -w -D INPUT ${rule} 2>/dev/null; do :; done`);
  return {
    open: { title: "iptables: let nodes in (safe to repeat)", language: "shell", text: lines(insert) },
    remove: { title: "iptables: take the rules away", language: "shell", text: lines(remove) },
  };
}
