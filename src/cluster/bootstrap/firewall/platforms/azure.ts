import { given, lines, OPENS_ITSELF, type PlanStep, type PlatformPlan, type PlatformPlanInput } from "../plan.js";

/** The name the installer looks for when it takes the rule away; it creates its own under another one. */
export const azureRuleName = (infraId: string): string => `${infraId}_konnectivity_in`;

/** Everything inside the virtual network, of either family, so that one rule and one name are enough. */
export const AZURE_SOURCE = "VirtualNetwork";
export const AZURE_PRIORITY = 230;

export function azurePlan(asked: PlatformPlanInput): PlatformPlan {
  if (asked.upi) return userProvisioned(asked);
  return asked.byoNetwork ? ownNetwork(asked) : installerProvisioned(asked);
}

function installerProvisioned(asked: PlatformPlanInput): PlatformPlan {
  const { infraId, platform, rule } = asked;
  const first = platform === "azurestack" ? "4.19" : "4.17";
  const scope: NsgScope = { group: `${infraId}-rg`, nsg: `${infraId}-nsg`, rule: azureRuleName(infraId) };
  return {
    where: `network security group ${scope.nsg}, through the AzureCluster's subnets`,
    sources: [`${AZURE_SOURCE} (the service tag)`],
    opened: [
      {
        by: OPENS_ITSELF,
        what: "adds konnectivity_in (public API, from anywhere) or konnectivity_in_ipv4_NN and _ipv6_NN (internal API, from each subnet); nothing to do",
      },
      {
        by: `openshift-install ${first} to 4.22`,
        what: `does not; run drawbridge firewall patch --platform ${platform} between create manifests and create cluster`,
      },
      { by: `openshift-install before ${first}`, what: "does not, and has no such manifest; run the commands below" },
    ],
    removed: [
      {
        by: OPENS_ITSELF,
        what: `looks for ${scope.rule} and takes that away; its own rules have other names and stay, the patched one has this name and goes`,
      },
      { by: `openshift-install ${first} to 4.22`, what: "takes nothing for this port away; run the removal below" },
    ],
    forgotten: [
      `konnectivity_in, konnectivity_in_ipv4_NN and konnectivity_in_ipv6_NN in ${scope.nsg}: the installer looks for another name than it created.`,
    ],
    open: [createRule(asked, scope, [AZURE_SOURCE])],
    remove: [deleteByPort(asked, scope)],
    notes: [
      `The default rule AllowVnetInBound already lets nodes reach TCP ${rule.port} unless a rule that denies stands before it; this one makes it certain.`,
      `If the cluster lives in a resource group of your own, write its name for ${scope.group}.`,
      ...stackNotes(asked),
    ],
  };
}

function ownNetwork(asked: PlatformPlanInput): PlatformPlan {
  const scope: NsgScope = {
    group: given("NETWORK_GROUP", "resource group of the virtual network"),
    nsg: given("NSG", "network security group of the control-plane subnet"),
    rule: azureRuleName(asked.infraId),
  };
  return {
    where: "the network security group of your control-plane subnet, if it has one",
    sources: asked.machineNetworks,
    opened: [
      {
        by: "you",
        what: "Cluster API leaves security groups of a virtual network it did not make alone, and so does every installer",
      },
    ],
    removed: [{ by: "you", what: "after bootstrap is complete" }],
    forgotten: [`${scope.rule}, which only you can take away.`],
    open: [createRule(asked, scope, asked.machineNetworks)],
    remove: [deleteByPort(asked, scope)],
    notes: [
      "Without a security group of your own, or with one that denies nothing inside the network, AllowVnetInBound already lets nodes in and there is nothing to do.",
      ...stackNotes(asked),
    ],
  };
}

function userProvisioned(asked: PlatformPlanInput): PlatformPlan {
  const scope: NsgScope = {
    group: given("RESOURCE_GROUP", "resource group of the cluster"),
    nsg: `${asked.infraId}-nsg`,
    rule: "bootstrap_konnectivity_in",
  };
  return {
    where: `network security group ${scope.nsg}`,
    sources: [`${AZURE_SOURCE} (the service tag)`],
    opened: [{ by: "you", what: "with the template part or the command below, before the bootstrap machine starts" }],
    removed: [{ by: "you", what: "together with bootstrap_ssh_in, when bootstrap is complete" }],
    forgotten: [
      `${scope.rule} in ${scope.nsg}: deleting the bootstrap machine does not delete rules of the shared group.`,
    ],
    open: [templatePart(asked, scope.rule), createRule(asked, scope, [AZURE_SOURCE])],
    remove: [deleteByPort(asked, scope)],
    notes: stackNotes(asked),
  };
}

interface NsgScope {
  readonly group: string;
  readonly nsg: string;
  readonly rule: string;
}

function createRule({ rule }: PlatformPlanInput, scope: NsgScope, sources: readonly string[]): PlanStep {
  // A rule may not mix the families, and each needs a name and a priority of its own.
  const families = [
    sources.filter((source) => !source.includes(":")),
    sources.filter((source) => source.includes(":")),
  ];
  const commands = families.flatMap((prefixes, index) => {
    if (prefixes.length === 0) return [];
    return [
      `az network nsg rule create --resource-group ${scope.group} --nsg-name ${scope.nsg} \\`,
      `  --name ${scope.rule}${index === 0 ? "" : "_ipv6"} --priority ${AZURE_PRIORITY + index} --direction Inbound --access Allow --protocol Tcp \\`,
      `  --source-address-prefixes ${prefixes.join(" ")} --source-port-ranges '*' \\`,
      `  --destination-address-prefixes '*' --destination-port-ranges ${rule.port}`,
    ];
  });
  return { title: "Create the rule", language: "shell", text: lines(commands) };
}

/** By port, because the names differ between installers and the installer's own removal misses its own. */
function deleteByPort({ rule }: PlatformPlanInput, { group, nsg }: NsgScope): PlanStep {
  return {
    title: `Delete every rule for port ${rule.port}, whatever its name`,
    language: "shell",
    text: lines(
      `az network nsg rule list --resource-group ${group} --nsg-name ${nsg} \\`,
      `  --query "[?direction=='Inbound' && destinationPortRange=='${rule.port}'].name" --output tsv |`,
      "  while read -r name; do",
      `    az network nsg rule delete --resource-group ${group} --nsg-name ${nsg} --name "$name"`,
      "  done",
    ),
  };
}

function templatePart({ rule }: PlatformPlanInput, name: string): PlanStep {
  const resource = {
    apiVersion: "2018-06-01",
    type: "Microsoft.Network/networkSecurityGroups/securityRules",
    name: `[concat(variables('clusterNsgName'), '/${name}')]`,
    location: "[variables('location')]",
    properties: {
      protocol: "Tcp",
      sourcePortRange: "*",
      destinationPortRange: String(rule.port),
      sourceAddressPrefix: AZURE_SOURCE,
      destinationAddressPrefix: "*",
      access: "Allow",
      priority: AZURE_PRIORITY,
      direction: "Inbound",
    },
  };
  return {
    title: "Either add this to the resources of 04_bootstrap.json",
    language: "json",
    text: JSON.stringify(resource, undefined, 2),
  };
}

function stackNotes({ platform }: PlatformPlanInput): string[] {
  return platform === "azurestack"
    ? ["On Azure Stack Hub register and select your cloud first: az cloud register, az cloud set."]
    : [];
}
