/** The cluster manifests of the installer that hold firewall rules, and the rule that each needs for the bridge. */
import { at, listOf } from "../../../../base/at.js";
import { REMOVED_BY_DESCRIPTION } from "../platforms/aws.js";
import { AZURE_PRIORITY, AZURE_SOURCE, azureRuleName } from "../platforms/azure.js";
import { ibmBootstrapGroup, ibmClusterWideGroup, powerVsGroup } from "../platforms/ibm.js";
import { type InstallerManifest, type ManifestPath, type ManifestItem as Rule, UnknownShape } from "./document.js";

export const GROUP = "infrastructure.cluster.x-k8s.io";

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
  /**
   * Whether a rule without our comment is ours all the same; tools that rewrite YAML lose comments. Undefined where rules
   * have neither names nor descriptions: then an annotation of the object says that one of them is ours.
   */
  isOurs?(rule: Rule, cluster: string, port: number): boolean;
  /** A sentence about the rule that was added, or about one that was there already. */
  readonly addedNote?: string;
  presentNote?(rule: Rule, cluster: string): string;
}

const INGRESS_RULES = ["spec", "network", "additionalControlPlaneIngressRules"];
const SOURCES = ["controlplane", "node"] as const;

const isWithin = (port: number, from: unknown, to: unknown): boolean =>
  Number(from ?? 0) <= port && port <= Number(to ?? 0);

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
  admits({ protocol, fromPort, toPort, sourceSecurityGroupRoles }, port) {
    const isCovered = protocol === "-1" || (protocol === "tcp" && isWithin(port, fromPort, toPort));
    return isCovered && SOURCES.every((role) => listOf(sourceSecurityGroupRoles).includes(role));
  },
  isOurs: ({ description, fromPort, toPort }, _, port) =>
    description === REMOVED_BY_DESCRIPTION && fromPort === port && toPort === port,
  addedNote: `The rule is described as ${JSON.stringify(REMOVED_BY_DESCRIPTION)}: by that text destroy bootstrap finds what it takes away.`,
};

const SUBNETS = ["spec", "networkSpec", "subnets"];

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
  admits({ direction, action = "Allow", protocol, destinationPorts }, port) {
    const isAllowed = direction === "Inbound" && action === "Allow" && (protocol === "Tcp" || protocol === "*");
    return isAllowed && destinationPorts === String(port);
  },
  isOurs: ({ name }, cluster) => name === azureRuleName(cluster),
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
    admits({ action, direction, source }, port) {
      const { minimumPort, maximumPort } = (at(source, "portRange") ?? {}) as Rule;
      const isAllowed = action === "allow" && direction === "inbound" && at(source, "protocol") === "tcp";
      return isAllowed && isWithin(port, minimumPort, maximumPort);
    },
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
