import { REMOVED_BY_DESCRIPTION } from "../platforms/aws.js";
import { AZURE_PRIORITY, AZURE_SOURCE, azureRuleName } from "../platforms/azure.js";
import { ibmBootstrapGroup, ibmClusterWideGroup, powerVsGroup } from "../platforms/ibm.js";
import { COMMENT, GROUP, type Manifest, type ManifestOutcome, type ManifestRules, UnknownShape } from "./document.js";

const LIST = ["spec", "network", "additionalControlPlaneIngressRules"] as const;
const SOURCES = ["controlplane", "node"] as const;

interface IngressRule {
  readonly description?: string;
  readonly protocol?: string;
  readonly fromPort?: number;
  readonly toPort?: number;
  readonly sourceSecurityGroupRoles?: readonly string[];
}

export const awsRules: ManifestRules = {
  kind: "AWSCluster",
  apiVersions: [`${GROUP}/v1beta1`, `${GROUP}/v1beta2`],

  open(manifest, { port }) {
    const there = manifest.list(...LIST).find((rule) => ingressAdmits(rule, port)) as IngressRule | undefined;
    if (there !== undefined) {
      return {
        changes: [],
        notes: [`${LIST.join(".")} already has the rule ${JSON.stringify(there.description)} for port ${port}.`],
      };
    }
    const rule = {
      description: REMOVED_BY_DESCRIPTION,
      fromPort: port,
      protocol: "tcp",
      sourceSecurityGroupRoles: SOURCES,
      toPort: port,
    };
    manifest.append(LIST, rule, COMMENT);
    return {
      changes: [{ where: LIST.join("."), rule: `tcp ${port} from ${SOURCES.join(" and ")}` }],
      notes: [
        `The rule is described as ${JSON.stringify(REMOVED_BY_DESCRIPTION)}: by that text destroy bootstrap finds what it takes away.`,
      ],
    };
  },

  close(manifest, { port }) {
    const dropped = manifest.drop(LIST, ({ value }) => isOurs(value, port));
    const others = manifest.list(...LIST).filter((rule) => ingressAdmits(rule, port)) as IngressRule[];
    return {
      changes: dropped > 0 ? [{ where: LIST.join("."), rule: `tcp ${port}` }] : [],
      notes: others.map(
        ({ description }) => `The rule ${JSON.stringify(description)} for port ${port} is not ours and stays.`,
      ),
    };
  },
};

function ingressAdmits(rule: IngressRule, port: number): boolean {
  const { protocol, fromPort = 0, toPort = 0, sourceSecurityGroupRoles = [] } = rule;
  const covers = protocol === "-1" || (protocol === "tcp" && fromPort <= port && port <= toPort);
  return covers && SOURCES.every((role) => sourceSecurityGroupRoles.includes(role));
}

function isOurs(rule: IngressRule, port: number): boolean {
  return rule.description === REMOVED_BY_DESCRIPTION && rule.fromPort === port && rule.toPort === port;
}

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
    const open = rules.find((rule) => securityRuleAdmits(rule, port));
    if (
      open !== undefined &&
      indices.every((index) => rulesOf(manifest, index).some((rule) => securityRuleAdmits(rule, port)))
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
    const others = subnets
      .flatMap((_, index) => rulesOf(manifest, index))
      .filter((rule) => securityRuleAdmits(rule, port));
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

function securityRuleAdmits(
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

// IBM Cloud's two cluster kinds: the same groups of rules in different places, and rules without names.

interface GroupRule {
  readonly action?: string;
  readonly direction?: string;
  readonly source?: {
    readonly protocol?: string;
    readonly portRange?: { readonly minimumPort?: number; readonly maximumPort?: number };
  };
}

interface Place {
  readonly groups: readonly string[];
  readonly group: (infraId: string) => string;
  readonly remote: (infraId: string) => object;
}

const apiVersions = [`${GROUP}/v1beta2`];

export const ibmCloudRules: ManifestRules = rulesIn("IBMVPCCluster", {
  groups: ["spec", "network", "securityGroups"],
  group: ibmBootstrapGroup,
  remote: (infraId) => ({ remoteType: "sg", securityGroupName: ibmClusterWideGroup(infraId) }),
});

export const powerVsRules: ManifestRules = rulesIn("IBMPowerVSCluster", {
  groups: ["spec", "vpcSecurityGroups"],
  group: powerVsGroup,
  // The manifest can name addresses, VPC subnets and groups; Power nodes are in none of them.
  remote: () => ({ remoteType: "any" }),
});

function rulesIn(kind: string, place: Place): ManifestRules {
  return {
    kind,
    apiVersions,

    open(manifest, { port }): ManifestOutcome {
      const { name, path } = find(manifest, place);
      if (manifest.list(...path).some((rule) => groupRuleAdmits(rule, port))) {
        return { changes: [], notes: [`${name} already has a rule for port ${port}.`] };
      }
      const source = {
        portRange: { maximumPort: port, minimumPort: port },
        protocol: "tcp",
        remotes: [place.remote(manifest.name)],
      };
      manifest.append(path, { action: "allow", direction: "inbound", source }, COMMENT);
      return { changes: [{ where: name, rule: `tcp ${port}` }], notes: [] };
    },

    close(manifest, { port }): ManifestOutcome {
      const { name, path } = find(manifest, place);
      // Such rules have no name; the comment above tells ours from the installer's.
      const dropped = manifest.drop(path, ({ value, comment }) => comment === COMMENT && groupRuleAdmits(value, port));
      const stays = manifest.list(...path).some((rule) => groupRuleAdmits(rule, port));
      return {
        changes: dropped > 0 ? [{ where: name, rule: `tcp ${port}` }] : [],
        notes: stays ? [`A rule for port ${port} in ${name} is not ours and stays.`] : [],
      };
    },
  };
}

function find(manifest: Manifest, { groups, group }: Place): { name: string; path: (string | number)[] } {
  const name = group(manifest.name);
  const index = manifest.list(...groups).findIndex((candidate) => candidate.name === name);
  const path = [...groups, index, "rules"];
  // The installer gives each of these groups rules; one without is not its work.
  if (index < 0 || manifest.list(...path).length === 0)
    throw new UnknownShape(`${groups.join(".")} has no ${name} with rules`);
  return { name, path };
}

function groupRuleAdmits({ action, direction, source }: GroupRule, port: number): boolean {
  const { minimumPort = 0, maximumPort = 0 } = source?.portRange ?? {};
  const isAllowed = action === "allow" && direction === "inbound" && source?.protocol === "tcp";
  return isAllowed && minimumPort <= port && port <= maximumPort;
}
