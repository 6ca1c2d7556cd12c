import { AZURE_PRIORITY, AZURE_SOURCE, azureRuleName } from "../platforms/azure.js";
import { type Manifest, UnknownShape } from "./document.js";
import { COMMENT, GROUP, type ManifestRules } from "./rules.js";

const SUBNETS = ["spec", "networkSpec", "subnets"] as const;

interface SecurityRule {
  readonly name?: string;
  readonly direction?: string;
  readonly action?: string;
  readonly protocol?: string;
  readonly destinationPorts?: string;
  readonly priority?: number;
}

interface Subnet {
  readonly role?: string;
  readonly securityGroup?: { readonly name?: string; readonly securityRules?: readonly SecurityRule[] };
}

export const azureRules: ManifestRules = {
  kind: "AzureCluster",
  apiVersions: [`${GROUP}/v1beta1`],

  open(manifest, { port }) {
    if (manifest.value("spec", "networkSpec", "vnet", "id")) {
      throw new UnknownShape(
        "its virtual network is one of your own, whose security groups Cluster API leaves alone; see drawbridge firewall plan --byo-network",
      );
    }
    const { group, indices } = controlPlaneGroup(manifest);
    const rules = indices.flatMap((index) => rulesOf(manifest, index));
    const open = rules.find((rule) => letsAgentsIn(rule, port));
    if (
      open !== undefined &&
      indices.every((index) => rulesOf(manifest, index).some((rule) => letsAgentsIn(rule, port)))
    ) {
      const isInstallers = open.name !== azureRuleName(manifest.name);
      const stays = isInstallers ? " The installer will not take it away: see drawbridge firewall plan." : "";
      return { changes: [], notes: [`${group} already has the rule ${open.name} for port ${port}.${stays}`] };
    }
    const name = azureRuleName(manifest.name);
    const rule = {
      action: "Allow",
      description: "Bootstrap Konnectivity",
      destination: "*",
      destinationPorts: String(port),
      direction: "Inbound",
      name,
      priority: freePriority(rules),
      protocol: "Tcp",
      source: AZURE_SOURCE,
      sourcePorts: "*",
    };
    // One security group, written out under every subnet that has it: Cluster API expects the same rules in each.
    for (const index of indices) {
      if (rulesOf(manifest, index).some((own) => own.name === name)) continue;
      manifest.append([...SUBNETS, index, "securityGroup", "securityRules"], rule, COMMENT);
    }
    return { changes: [{ where: group, rule: `${name}: tcp ${port} from ${AZURE_SOURCE}` }], notes: [] };
  },

  close(manifest, { port }) {
    const name = azureRuleName(manifest.name);
    const subnets = manifest.list(...SUBNETS);
    const dropped = subnets.map((_, index) =>
      manifest.drop([...SUBNETS, index, "securityGroup", "securityRules"], ({ value }) => value.name === name),
    );
    const others = subnets.flatMap((_, index) => rulesOf(manifest, index)).filter((rule) => letsAgentsIn(rule, port));
    const names = new Set(others.map((rule) => rule.name));
    return {
      changes: dropped.some((count) => count > 0) ? [{ where: "security groups of the subnets", rule: name }] : [],
      notes: [...names].map((other) => `The rule ${other} for port ${port} is not ours and stays.`),
    };
  },
};

/** The bootstrap machine stands in the control plane's subnet, whose group other subnets may share. */
function controlPlaneGroup(manifest: Manifest): { group: string; indices: number[] } {
  const subnets = manifest.list(...SUBNETS) as readonly Subnet[];
  const group = subnets.find(({ role }) => role === "control-plane")?.securityGroup?.name;
  if (group === undefined)
    throw new UnknownShape(`${SUBNETS.join(".")} has no control-plane subnet with a securityGroup`);
  const indices = [...subnets.keys()].filter((index) => subnets[index]?.securityGroup?.name === group);
  return { group, indices };
}

function rulesOf(manifest: Manifest, index: number): readonly SecurityRule[] {
  return manifest.list(...SUBNETS, index, "securityGroup", "securityRules");
}

function letsAgentsIn(
  { direction, action = "Allow", protocol, destinationPorts }: SecurityRule,
  port: number,
): boolean {
  const isAllowed = direction === "Inbound" && action === "Allow" && ["Tcp", "*"].includes(protocol ?? "");
  return isAllowed && destinationPorts === String(port);
}

/** Priorities are unique within a group and direction. */
function freePriority(rules: readonly SecurityRule[]): number {
  const taken = new Set(rules.map(({ priority }) => priority));
  for (let priority = AZURE_PRIORITY; priority <= 4096; priority += 10) {
    if (!taken.has(priority)) return priority;
  }
  throw new UnknownShape(`no priority from ${AZURE_PRIORITY} to 4096 is free in its security group`);
}
