import {
  actions,
  block,
  given,
  isIPv6,
  json,
  OPENS_ITSELF,
  type PlatformPlan,
  type PlatformPlanInput,
  shell,
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
  const [group, nsg, name] = [`${infraId}-rg`, `${infraId}-nsg`, azureRuleName(infraId)];
  return {
    where: `network security group ${nsg}, through the AzureCluster's subnets`,
    sources: [`${AZURE_SOURCE} (the service tag)`],
    opened: actions`
      ${OPENS_ITSELF} | adds konnectivity_in (public API, from anywhere) or konnectivity_in_ipv4_NN and _ipv6_NN (internal API, from each subnet); nothing to do
      openshift-install ${first} to 4.22 | does not; run drawbridge firewall patch --platform ${platform} between create manifests and create cluster
      openshift-install before ${first} | does not, and has no such manifest; run the commands below`,
    removed: actions`
      ${OPENS_ITSELF} | looks for ${name} and takes that away; its own rules have other names and stay, the patched one has this name and goes
      openshift-install ${first} to 4.22 | takes nothing for this port away; run the removal below`,
    forgotten: [
      `konnectivity_in, konnectivity_in_ipv4_NN and konnectivity_in_ipv6_NN in ${nsg}: the installer looks for another name than it created.`,
    ],
    ...commands(group, nsg, name, port, [AZURE_SOURCE]),
    notes: [
      `The default rule AllowVnetInBound already lets nodes reach TCP ${port} unless a rule before it denies that; this one makes it certain.`,
      `If the cluster lives in a resource group of your own, write its name for ${group}.`,
    ],
  };
}

function ownNetwork({ infraId, machineNetworks, port }: PlatformPlanInput): PlatformPlan {
  const group = given("NETWORK_GROUP", "resource group of the virtual network");
  const nsg = given("NSG", "network security group of the control-plane subnet");
  return {
    where: "the network security group of your control-plane subnet, if it has one",
    sources: machineNetworks,
    opened: actions`you | Cluster API leaves security groups of a virtual network it did not make alone, and so does every installer`,
    removed: actions`you | after bootstrap is complete`,
    forgotten: [`${azureRuleName(infraId)}, which only you can take away.`],
    ...commands(group, nsg, azureRuleName(infraId), port, machineNetworks),
    notes: [
      "Without a security group of your own, or with one that denies nothing inside the network, AllowVnetInBound already lets nodes in and there is nothing to do.",
    ],
  };
}

function userProvisioned({ infraId, port }: PlatformPlanInput): PlatformPlan {
  const group = given("RESOURCE_GROUP", "resource group of the cluster");
  const [nsg, name] = [`${infraId}-nsg`, "bootstrap_konnectivity_in"];
  const { open, remove } = commands(group, nsg, name, port, [AZURE_SOURCE]);
  return {
    where: `network security group ${nsg}`,
    sources: [`${AZURE_SOURCE} (the service tag)`],
    opened: actions`you | with the template part or the command below, before the bootstrap machine starts`,
    removed: actions`you | together with bootstrap_ssh_in, when bootstrap is complete`,
    forgotten: [`${name} in ${nsg}: deleting the bootstrap machine does not delete rules of the shared group.`],
    open: [
      json("Either add this to the resources of 04_bootstrap.json")`
        {
          "apiVersion": "2018-06-01",
          "type": "Microsoft.Network/networkSecurityGroups/securityRules",
          "name": "[concat(variables('clusterNsgName'), '/${name}')]",
          "location": "[variables('location')]",
          "properties": {
            "protocol": "Tcp",
            "sourcePortRange": "*",
            "destinationPortRange": "${port}",
            "sourceAddressPrefix": "${AZURE_SOURCE}",
            "destinationAddressPrefix": "*",
            "access": "Allow",
            "priority": ${AZURE_PRIORITY},
            "direction": "Inbound"
          }
        }`,
      ...open,
    ],
    remove,
    notes: [],
  };
}

/** How a rule of a network security group is made and deleted. */
function commands(
  group: string,
  nsg: string,
  name: string,
  port: number,
  sources: readonly string[],
): Pick<PlatformPlan, "open" | "remove"> {
  // A rule may not mix the families, and each needs a name and a priority of its own.
  const families = [sources.filter((source) => !isIPv6(source)), sources.filter(isIPv6)];
  const creations = families.map((prefixes, index) =>
    prefixes.length === 0
      ? []
      : block`
        az network nsg rule create --resource-group ${group} --nsg-name ${nsg} \\
          --name ${name}${index === 0 ? "" : "_ipv6"} --priority ${AZURE_PRIORITY + index} --direction Inbound --access Allow --protocol Tcp \\
          --source-address-prefixes ${prefixes.join(" ")} --source-port-ranges '*' \\
          --destination-address-prefixes '*' --destination-port-ranges ${port}`,
  );
  return {
    open: [shell("Create the rule")`${creations.flat()}`],
    remove: [
      // By port, because the names differ between installers and the installer's own removal misses its own.
      shell(`Delete every rule for port ${port}, whatever its name`)`
        az network nsg rule list --resource-group ${group} --nsg-name ${nsg} \\
          --query "[?direction=='Inbound' && destinationPortRange=='${port}'].name" --output tsv |
          while read -r name; do
            az network nsg rule delete --resource-group ${group} --nsg-name ${nsg} --name "$name"
          done`,
    ],
  };
}
