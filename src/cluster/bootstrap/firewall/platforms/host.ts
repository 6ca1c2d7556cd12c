/** Hosts that filter for themselves: nftables, firewalld and iptables. Each removal takes only what is marked as ours. */
import { actions, block, isIPv6, MARK, type PlatformPlan, type PlatformPlanInput, shell } from "../plan.js";

export function hostPlan({ machineNetworks, port }: PlatformPlanInput): PlatformPlan {
  const filters = [nftables, firewalld, iptables].map((filter) => filter(machineNetworks, port));
  return {
    where: "the packet filter of the host that runs the proxy-server",
    sources: machineNetworks,
    opened: actions`you | with one of the three, whichever the host uses`,
    removed: actions`you | with the same one; none of them survives a restart of the host`,
    forgotten: [`The rule marked ${MARK}, until the removal is run or the host restarts.`],
    open: filters.map(({ open }) => open),
    remove: filters.map(({ remove }) => remove),
    notes: [
      "firewalld owns its own nftables table: on a host with firewalld use firewall-cmd.",
      "The bridge's agents prove themselves with client certificates; the filter only keeps strangers from trying.",
    ],
  };
}

/**
 * An accept in one table does not overrule a drop in another, so the rule goes to the top of every chain that filters
 * what comes in.
 */
function nftables(networks: readonly string[], port: number) {
  const clear = block`
    nft -j list ruleset |
      jq -r '.nftables[].rule? // empty | select(.comment == "${MARK}") | "\\(.family) \\(.table) \\(.chain) \\(.handle)"' |
      while read -r family table chain handle; do
        nft delete rule "$family" "$table" "$chain" handle "$handle"
      done`;
  const insert = ["ip", "ip6"].flatMap((family) => {
    const prefixes = networks.filter((network) => isIPv6(network) === (family === "ip6"));
    if (prefixes.length === 0) return [];
    const match = `${family} saddr { ${prefixes.join(", ")} } tcp dport ${port} accept comment \\"${MARK}\\"`;
    return [`    case $family in inet | ${family}) nft insert rule "$family" "$table" "$chain" "${match}" ;; esac`];
  });
  return {
    open: shell("nftables: let nodes in, in every chain that filters incoming packets (safe to repeat)")`
      ${clear}
      nft -j list chains |
        jq -r '.nftables[].chain? // empty | select(.hook == "input" and .type == "filter") | "\\(.family) \\(.table) \\(.name)"' |
        while read -r family table chain; do
      ${insert}
        done`,
    remove: shell("nftables: take the rules away")`${clear}`,
  };
}

function firewalld(networks: readonly string[], port: number) {
  const each = (verb: string) =>
    networks.map((network) => {
      const family = isIPv6(network) ? "ipv6" : "ipv4";
      const rule = `rule family="${family}" source address="${network}" port port="${port}" protocol="tcp" accept`;
      return `firewall-cmd --${verb}-rich-rule='${rule}'`;
    });
  return {
    open: shell("firewalld: let nodes in until the next reload or restart")`${each("add")}`,
    remove: shell("firewalld: take the rules away")`${each("remove")}`,
  };
}

function iptables(networks: readonly string[], port: number) {
  const rules = networks.map((network) => ({
    program: isIPv6(network) ? "ip6tables" : "iptables",
    rule: `-s ${network} -p tcp --dport ${port} -m comment --comment ${MARK} -j ACCEPT`,
  }));
  const add = rules.map(
    ({ program, rule }) => `${program} -w -C INPUT ${rule} 2>/dev/null || ${program} -w -I INPUT ${rule}`,
  );
  const drop = rules.map(({ program, rule }) => `while ${program} -w -D INPUT ${rule} 2>/dev/null; do :; done`);
  return {
    open: shell("iptables: let nodes in (safe to repeat)")`${add}`,
    remove: shell("iptables: take the rules away")`${drop}`,
  };
}
