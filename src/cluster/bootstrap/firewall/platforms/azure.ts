import {
  by,
  given,
  isIPv6,
  json,
  OPENS_ITSELF,
  type PlanStep,
  type PlatformPlan,
  type PlatformPlanInput,
  shell,
  you,
} from "../plan.js";

/** The name the installer looks for when it takes the rule away; it creates its own under another one. */
export const azureRuleName = (infraId: string): string => `${infraId}_konnectivity_in`;

/** Everything inside the virtual network, of either family, so that one rule and one name are enough. */
export const AZURE_SOURCE = "VirtualNetwork";
export const AZURE_PRIORITY = 230;

export function azurePlan(asked: PlatformPlanInput): PlatformPlan {
  const plan = asked.upi ? userProvisioned(asked) : asked.byoNetwork ? ownNetwork(asked) : installerProvisioned(asked);
  if (asked.platform !== "azurestack") return plan;
  const note = "On Azure Stack Hub register and select your cloud first: az cloud register, az cloud set.";
  return { ...plan, notes: [...plan.notes, note] };
}

function installerProvisioned({ infraId, platform, port }: PlatformPlanInput): PlatformPlan {
  const first = platform === "azurestack" ? "4.19" : "4.17";
  const rule: NsgRule = { group: `${infraId}-rg`, nsg: `${infraId}-nsg`, name: azureRuleName(infraId), port };
  return {
    where: `network security group ${rule.nsg}, through the AzureCluster's subnets`,
    sources: [`${AZURE_SOURCE} (the service tag)`],
    opened: [
      by(
        OPENS_ITSELF,
        "adds konnectivity_in (public API, from anywhere) or konnectivity_in_ipv4_NN and _ipv6_NN (internal API, from each subnet); nothing to do",
      ),
      by(
        `openshift-install ${first} to 4.22`,
        `does not; run drawbridge firewall patch --platform ${platform} between create manifests and create cluster`,
      ),
      by(`openshift-install before ${first}`, "does not, and has no such manifest; run the commands below"),
    ],
    removed: [
      by(
        OPENS_ITSELF,
        `looks for ${rule.name} and takes that away; its own rules have other names and stay, the patched one has this name and goes`,
      ),
      by(`openshift-install ${first} to 4.22`, "takes nothing for this port away; run the removal below"),
    ],
    forgotten: [
      `konnectivity_in, konnectivity_in_ipv4_NN and konnectivity_in_ipv6_NN in ${rule.nsg}: the installer looks for another name than it created.`,
    ],
    open: [createRule(rule, [AZURE_SOURCE])],
    remove: [deleteByPort(rule)],
    notes: [
      `The default rule AllowVnetInBound already lets nodes reach TCP ${port} unless a rule before it denies that; this one makes it certain.`,
      `If the cluster lives in a resource group of your own, write its name for ${rule.group}.`,
    ],
  };
}

function ownNetwork({ infraId, machineNetworks, port }: PlatformPlanInput): PlatformPlan {
  const group = given("NETWORK_GROUP", "resource group of the virtual network");
  const nsg = given("NSG", "network security group of the control-plane subnet");
  const rule: NsgRule = { group, nsg, name: azureRuleName(infraId), port };
  return {
    where: "the network security group of your control-plane subnet, if it has one",
    sources: machineNetworks,
    opened: [
      you("Cluster API leaves security groups of a virtual network it did not make alone, and so does every installer"),
    ],
    removed: [you("after bootstrap is complete")],
    forgotten: [`${rule.name}, which only you can take away.`],
    open: [createRule(rule, machineNetworks)],
    remove: [deleteByPort(rule)],
    notes: [
      "Without a security group of your own, or with one that denies nothing inside the network, AllowVnetInBound already lets nodes in and there is nothing to do.",
    ],
  };
}

function userProvisioned({ infraId, port }: PlatformPlanInput): PlatformPlan {
  const group = given("RESOURCE_GROUP", "resource group of the cluster");
  const rule: NsgRule = { group, nsg: `${infraId}-nsg`, name: "bootstrap_konnectivity_in", port };
  return {
    where: `network security group ${rule.nsg}`,
    sources: [`${AZURE_SOURCE} (the service tag)`],
    opened: [you("with the template part or the command below, before the bootstrap machine starts")],
    removed: [you("together with bootstrap_ssh_in, when bootstrap is complete")],
    forgotten: [
      `${rule.name} in ${rule.nsg}: deleting the bootstrap machine does not delete rules of the shared group.`,
    ],
    open: [templatePart(rule), createRule(rule, [AZURE_SOURCE])],
    remove: [deleteByPort(rule)],
    notes: [],
  };
}

/** A rule of a network security group. */
interface NsgRule {
  readonly group: string;
  readonly nsg: string;
  readonly name: string;
  readonly port: number;
}

/** A rule may not mix the families, and each needs a name and a priority of its own. */
function createRule({ group, nsg, name, port }: NsgRule, sources: readonly string[]): PlanStep {
  const families = [sources.filter((source) => !isIPv6(source)), sources.filter(isIPv6)];
  const commands = families.map((prefixes, index) => [
    `az network nsg rule create --resource-group ${group} --nsg-name ${nsg} \\`,
    `  --name ${name}${index === 0 ? "" : "_ipv6"} --priority ${AZURE_PRIORITY + index} --direction Inbound --access Allow --protocol Tcp \\`,
    `  --source-address-prefixes ${prefixes.join(" ")} --source-port-ranges '*' \\`,
    `  --destination-address-prefixes '*' --destination-port-ranges ${port}`,
  ]);
  return shell("Create the rule", ...commands.filter((_, index) => families[index]!.length > 0));
}

/** By port, because the names differ between installers and the installer's own removal misses its own. */
const deleteByPort = ({ group, nsg, port }: NsgRule): PlanStep =>
  shell(
    `Delete every rule for port ${port}, whatever its name`,
    `az network nsg rule list --resource-group ${group} --nsg-name ${nsg} \\`,
    `  --query "[?direction=='Inbound' && destinationPortRange=='${port}'].name" --output tsv |`,
    "  while read -r name; do",
    `    az network nsg rule delete --resource-group ${group} --nsg-name ${nsg} --name "$name"`,
    "  done",
  );

function templatePart({ name, port }: NsgRule): PlanStep {
  const resource = {
    apiVersion: "2018-06-01",
    type: "Microsoft.Network/networkSecurityGroups/securityRules",
    name: `[concat(variables('clusterNsgName'), '/${name}')]`,
    location: "[variables('location')]",
    properties: {
      protocol: "Tcp",
      sourcePortRange: "*",
      destinationPortRange: String(port),
      sourceAddressPrefix: AZURE_SOURCE,
      destinationAddressPrefix: "*",
      access: "Allow",
      priority: AZURE_PRIORITY,
      direction: "Inbound",
    },
  };
  return json("Either add this to the resources of 04_bootstrap.json", JSON.stringify(resource, undefined, 2));
}
