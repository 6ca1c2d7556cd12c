/** The cluster manifests of the installer that hold firewall rules, and the rule that each needs for the bridge. */
import { REMOVED_BY_DESCRIPTION } from "../platforms/aws.js";
import { AZURE_PRIORITY, AZURE_SOURCE, azureRuleName } from "../platforms/azure.js";
import { ibmBootstrapGroup, ibmClusterWideGroup, powerVsGroup } from "../platforms/ibm.js";
import { type InstallerManifest, type ManifestPath, UnknownShape } from "./document.js";

export const GROUP = "infrastructure.cluster.x-k8s.io";

/** The comment above every rule we add. */
export const COMMENT = "drawbridge: agents reach the bootstrap host, until it is gone";

/** A rule as the manifest spells it; each kind knows its own fields. */
type Rule = Readonly<Record<string, unknown>>;

export interface ManifestKind {
  readonly kind: string;
  readonly apiVersions: readonly string[];
  /** The lists that the rule has to be in, and their name for people. Throws UnknownShape. */
  lists(
    manifest: InstallerManifest,
    direction: "open" | "close",
  ): { readonly where: string; readonly paths: readonly ManifestPath[] };
  /** The rule to add; `present` are the rules of these lists. Throws UnknownShape. */
  rule(cluster: string, port: number, present: readonly Rule[]): object;
  /** The rule for people. */
  ruleText(cluster: string, port: number): string;
  admits(rule: Rule, port: number): boolean;
  isOurs(rule: Rule, comment: string | undefined, cluster: string, port: number): boolean;
  /** How a rule of somebody else is called in a sentence. */
  title(rule: Rule): string;
  /** A sentence about the rule that was added, or about one that was there already. */
  readonly addedNote?: string;
  presentNote?(rule: Rule, cluster: string): string;
}

const INGRESS_RULES = ["spec", "network", "additionalControlPlaneIngressRules"];
const SOURCES = ["controlplane", "node"] as const;

interface IngressRule {
  readonly description?: string;
  readonly protocol?: string;
  readonly fromPort?: number;
  readonly toPort?: number;
  readonly sourceSecurityGroupRoles?: readonly string[];
}

export const awsCluster: ManifestKind = {
  kind: "AWSCluster",
  apiVersions: [`${GROUP}/v1beta1`, `${GROUP}/v1beta2`],
  lists: () => ({ where: INGRESS_RULES.join("."), paths: [INGRESS_RULES] }),
  rule: (_, port) => ({
    description: REMOVED_BY_DESCRIPTION,
    fromPort: port,
    protocol: "tcp",
    sourceSecurityGroupRoles: SOURCES,
    toPort: port,
  }),
  ruleText: (_, port) => `tcp ${port} from ${SOURCES.join(" and ")}`,
  admits({ protocol, fromPort = 0, toPort = 0, sourceSecurityGroupRoles = [] }: IngressRule, port) {
    const covers = protocol === "-1" || (protocol === "tcp" && fromPort <= port && port <= toPort);
    return covers && SOURCES.every((role) => sourceSecurityGroupRoles.includes(role));
  },
  isOurs: ({ description, fromPort, toPort }, _comment, _cluster, port) =>
    description === REMOVED_BY_DESCRIPTION && fromPort === port && toPort === port,
  title: ({ description }) => `the rule ${JSON.stringify(description)}`,
  addedNote: `The rule is described as ${JSON.stringify(REMOVED_BY_DESCRIPTION)}: by that text destroy bootstrap finds what it takes away.`,
};

const SUBNETS = ["spec", "networkSpec", "subnets"];

interface SecurityRule {
  readonly direction?: string;
  readonly action?: string;
  readonly protocol?: string;
  readonly destinationPorts?: string;
}

export const azureCluster: ManifestKind = {
  kind: "AzureCluster",
  apiVersions: [`${GROUP}/v1beta1`],
  /**
   * The bootstrap machine is in the control plane's subnet, whose security group other subnets may share: it is written
   * out under every subnet that has it, and Cluster API expects the same rules in each.
   */
  lists(manifest, direction) {
    const subnets = manifest.list(...SUBNETS) as readonly { role?: string; securityGroup?: { name?: string } }[];
    const pathOf = (index: number): ManifestPath => [...SUBNETS, index, "securityGroup", "securityRules"];
    if (direction === "close")
      return { where: "security groups of the subnets", paths: [...subnets.keys()].map(pathOf) };
    if (manifest.value("spec", "networkSpec", "vnet", "id"))
      throw new UnknownShape(
        "its virtual network is one of your own, whose security groups Cluster API leaves alone; see drawbridge firewall plan --byo-network",
      );
    const where = subnets.find(({ role }) => role === "control-plane")?.securityGroup?.name;
    if (where === undefined)
      throw new UnknownShape(`${SUBNETS.join(".")} has no control-plane subnet with a securityGroup`);
    const sharing = [...subnets.keys()].filter((index) => subnets[index]?.securityGroup?.name === where);
    return { where, paths: sharing.map(pathOf) };
  },
  rule: (cluster, port, present) => ({
    action: "Allow",
    description: "Bootstrap Konnectivity",
    destination: "*",
    destinationPorts: String(port),
    direction: "Inbound",
    name: azureRuleName(cluster),
    priority: freePriority(present),
    protocol: "Tcp",
    source: AZURE_SOURCE,
    sourcePorts: "*",
  }),
  ruleText: (cluster, port) => `${azureRuleName(cluster)}: tcp ${port} from ${AZURE_SOURCE}`,
  admits({ direction, action = "Allow", protocol, destinationPorts }: SecurityRule, port) {
    const isAllowed = direction === "Inbound" && action === "Allow" && ["Tcp", "*"].includes(protocol ?? "");
    return isAllowed && destinationPorts === String(port);
  },
  isOurs: ({ name }, _comment, cluster) => name === azureRuleName(cluster),
  title: ({ name }) => `the rule ${name}`,
  presentNote: ({ name }, cluster) =>
    name === azureRuleName(cluster) ? "" : " The installer will not take it away: see drawbridge firewall plan.",
};

/** Priorities are unique within a group and direction. */
function freePriority(rules: readonly Rule[]): number {
  const taken = new Set(rules.map(({ priority }) => priority));
  for (let priority = AZURE_PRIORITY; priority <= 4096; priority += 10) {
    if (!taken.has(priority)) return priority;
  }
  throw new UnknownShape(`no priority from ${AZURE_PRIORITY} to 4096 is free in its security group`);
}

interface GroupRule {
  readonly action?: string;
  readonly direction?: string;
  readonly source?: {
    readonly protocol?: string;
    readonly portRange?: { readonly minimumPort?: number; readonly maximumPort?: number };
  };
}

/** IBM Cloud's two kinds of cluster: the same groups of rules in different places, and rules without names. */
function ibmCluster(
  kind: string,
  groups: readonly string[],
  groupName: (infraId: string) => string,
  remote: (infraId: string) => object,
): ManifestKind {
  return {
    kind,
    apiVersions: [`${GROUP}/v1beta2`],
    lists(manifest) {
      const where = groupName(manifest.name);
      const index = manifest.list(...groups).findIndex(({ name }) => name === where);
      const path = [...groups, index, "rules"];
      // The installer gives each of these groups rules; one without is not its work.
      if (index < 0 || manifest.list(...path).length === 0)
        throw new UnknownShape(`${groups.join(".")} has no ${where} with rules`);
      return { where, paths: [path] };
    },
    rule: (cluster, port) => ({
      action: "allow",
      direction: "inbound",
      source: {
        portRange: { maximumPort: port, minimumPort: port },
        protocol: "tcp",
        remotes: [remote(cluster)],
      },
    }),
    ruleText: (_, port) => `tcp ${port}`,
    admits({ action, direction, source }: GroupRule, port) {
      const { minimumPort = 0, maximumPort = 0 } = source?.portRange ?? {};
      const isAllowed = action === "allow" && direction === "inbound" && source?.protocol === "tcp";
      return isAllowed && minimumPort <= port && port <= maximumPort;
    },
    // Such rules have no name; the comment above distinguishes ours from the installer's.
    isOurs(rule, comment, _cluster, port) {
      return comment === COMMENT && this.admits(rule, port);
    },
    title: () => "a rule",
  };
}

export const ibmVpcCluster = ibmCluster(
  "IBMVPCCluster",
  ["spec", "network", "securityGroups"],
  ibmBootstrapGroup,
  (infraId) => ({ remoteType: "sg", securityGroupName: ibmClusterWideGroup(infraId) }),
);

export const powerVsCluster = ibmCluster(
  "IBMPowerVSCluster",
  ["spec", "vpcSecurityGroups"],
  powerVsGroup,
  // The manifest can name addresses, VPC subnets and groups; Power nodes are in none of them.
  () => ({ remoteType: "any" }),
);
