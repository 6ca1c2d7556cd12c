/** One plan for each platform; the rule itself comes from the bridge's model. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { parsePrefix } from "../address/ip.js";
import type { Asked, FirewallPlan, PlanInput, Platform, PlatformPlan } from "./plan.js";
import { awsPlan } from "./platforms/aws.js";
import { azurePlan } from "./platforms/azure.js";
import { gcpPlan } from "./platforms/gcp.js";
import { hostPlan } from "./platforms/host.js";
import { ibmCloudPlan, powerVsPlan } from "./platforms/ibm.js";
import { openStackPlan } from "./platforms/openstack.js";
import { unmanagedPlan } from "./platforms/unmanaged.js";

export function firewallPlan(input: PlanInput): FirewallPlan {
  const { platform, rule, upi, byoNetwork } = input;
  check(input);
  const machineNetworks = input.machineNetworks.map((network) => parsePrefix(network)?.text ?? network);
  const asked = { ...input, machineNetworks, infraId: input.infraId ?? INFRA_ID };
  const notes = input.infraId === undefined && platform !== "host" ? [WHERE_THE_ID_IS] : [];
  const plan = planners[platform](asked);
  return {
    platform,
    provisioning:
      platform === "host" ? "host" : upi ? "user" : byoNetwork ? "installer, network of your own" : "installer",
    infraId: asked.infraId,
    rule,
    ...plan,
    notes: [...plan.notes, ...notes],
  };
}

/** What stands in commands that people paste must be nothing but a name or a prefix. */
function check(input: PlanInput): void {
  const { platform, infraId, machineNetworks } = input;
  if (infraId !== undefined && !/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(infraId)) {
    throw refused(`the infrastructure ID ${JSON.stringify(infraId)} is not lower-case letters, digits and dashes`);
  }
  for (const network of machineNetworks) {
    if (parsePrefix(network)) continue;
    throw refused(`the machine network ${JSON.stringify(network)} is not a prefix such as 10.0.0.0/16`);
  }
  if (machineNetworks.length === 0 && needsNetworks(input)) {
    const why = "here a rule names the networks of the nodes";
    throw refused(`--platform ${platform} needs --machine-network, or --dir to find it: ${why}`);
  }
}

const planners: Readonly<Record<Platform, (asked: Asked) => PlatformPlan>> = {
  aws: awsPlan,
  azure: azurePlan,
  azurestack: azurePlan,
  gcp: gcpPlan,
  openstack: openStackPlan,
  powervc: unmanagedPlan,
  ibmcloud: ibmCloudPlan,
  powervs: powerVsPlan,
  vsphere: unmanagedPlan,
  nutanix: unmanagedPlan,
  baremetal: unmanagedPlan,
  none: unmanagedPlan,
  external: unmanagedPlan,
  ovirt: unmanagedPlan,
  host: hostPlan,
};

const INFRA_ID = "INFRA_ID";
const WHERE_THE_ID_IS =
  "INFRA_ID stands for the cluster's infrastructure ID: jq -r .infraID metadata.json in the install directory, or give --infra-id or --dir.";

/** Clouds with security groups or tags name nodes by those. */
function needsNetworks({ platform, upi, byoNetwork }: PlanInput): boolean {
  if (platform === "azure" || platform === "azurestack") return byoNetwork && !upi;
  return !["aws", "gcp", "ibmcloud", "powervs"].includes(platform);
}

function refused(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_FLAG_VALUE", `${sentence}.`);
}
