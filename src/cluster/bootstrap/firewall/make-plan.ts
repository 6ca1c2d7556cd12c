/** One plan for each platform; the rule itself comes from the bridge's model. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { parseNetwork } from "../address/ip.js";
import {
  actions,
  type FirewallPlan,
  type PlanInput,
  type Platform,
  type PlatformPlan,
  type PlatformPlanInput,
  words,
} from "./plan.js";
import { awsPlan } from "./platforms/aws.js";
import { azurePlan } from "./platforms/azure.js";
import { gcpPlan } from "./platforms/gcp.js";
import { hostPlan } from "./platforms/host.js";
import { ibmCloudPlan, powerVsPlan } from "./platforms/ibm.js";
import { openStackPlan } from "./platforms/openstack.js";

export function firewallPlan(input: PlanInput): FirewallPlan {
  const { platform, rule, upi, byoNetwork, infraId = INFRA_ID } = input;
  check(input);
  const machineNetworks = input.machineNetworks.map(checkedPrefix);
  const notes = input.infraId === undefined && platform !== "host" ? [WHERE_THE_ID_IS] : [];
  const plan = planners[platform]({ ...input, infraId, machineNetworks, port: rule.port });
  const byInstaller = byoNetwork ? "installer, network of your own" : "installer";
  const provisioning = platform === "host" ? "host" : upi ? "user" : byInstaller;
  return { platform, provisioning, infraId, rule, ...plan, notes: [...plan.notes, ...notes] };
}

/** Values in commands that people paste must be nothing but names or prefixes. */
function check(input: PlanInput): void {
  const { platform, infraId, machineNetworks } = input;
  if (infraId !== undefined && !/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(infraId)) {
    throw refused(`the infrastructure ID ${JSON.stringify(infraId)} is not lower-case letters, digits and dashes`);
  }
  if (machineNetworks.length === 0 && needsNetworks(input)) {
    const why = "here a rule names the networks of the nodes";
    throw refused(`--platform ${platform} needs --machine-network, or --dir to find it: ${why}`);
  }
}

function checkedPrefix(network: string): string {
  const prefix = parseNetwork(network);
  if (prefix !== undefined) return prefix.text;
  throw refused(`the machine network ${JSON.stringify(network)} is not a prefix such as 10.0.0.0/16`);
}

const planners: Readonly<Record<Platform, (asked: PlatformPlanInput) => PlatformPlan>> = {
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
  "INFRA_ID is a placeholder for the cluster's infrastructure ID: jq -r .infraID metadata.json in the install directory, or give --infra-id or --dir.";

/** Clouds with security groups or tags name nodes by those. */
function needsNetworks({ platform, upi, byoNetwork }: PlanInput): boolean {
  if (platform === "azure" || platform === "azurestack") return byoNetwork && !upi;
  return !["aws", "gcp", "ibmcloud", "powervs"].includes(platform);
}

function refused(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_FLAG_VALUE", `${sentence}.`);
}

/** A plan as text: who does what and when first, then what to paste. */
export function showPlan(plan: FirewallPlan): string {
  const { platform, provisioning, rule, infraId, opened, removed, open, remove } = plan;
  const cluster = platform === "host" ? "" : `, cluster ${infraId}`;
  const list = (title: string, sentences: readonly string[]) =>
    sentences.length === 0 ? "" : [`${title}:`, ...sentences.map((sentence) => `  - ${sentence}`)].join("\n");
  const actions = (title: string, all: typeof opened) =>
    list(
      title,
      all.map(({ by, what }) => `${by}: ${what}.`),
    );
  // Without indentation, so that a block can be copied as it is.
  const steps = (title: string, all: typeof open) =>
    [`${title}:`, ...all.map((step) => `\n  # ${step.title}\n\n${step.text}`)].join("\n");
  const parts = [
    `Firewall plan for ${platform} (provisioned by: ${provisioning}${cluster})`,
    [
      `  Let through   ${rule.proto.toUpperCase()} ${rule.port} to the bootstrap host`,
      `  From          ${plan.sources.join(", ")}`,
      `  In            ${plan.where}`,
      "  Until         bootstrap is complete",
    ].join("\n"),
    actions("Who opens it", opened),
    actions("Who takes it away", removed),
    list("Stays behind unless you act", plan.forgotten),
    steps("Open it yourself", open),
    steps("Take it away yourself", remove),
    list("Notes", plan.notes),
  ];
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

/** Where the installer makes no firewall at all: whoever runs the network lets nodes through. */
function unmanagedPlan(asked: PlatformPlanInput): PlatformPlan {
  const { platform, port, machineNetworks } = asked;
  const traffic = `TCP ${port} from the nodes (${machineNetworks.join(", ")}) to the address of the bootstrap host`;
  const host = hostPlan(asked);
  return {
    where: guards[platform] ?? "whatever is between nodes and bootstrap host",
    sources: machineNetworks,
    opened: actions`you | no installer opens anything here`,
    removed: actions`you | no installer removes anything here`,
    forgotten: ["Every rule that was opened for the bridge: nobody but you knows it."],
    open: [
      words(
        "Ask whoever runs the network for this rule",
      )`Allow ${traffic}, from its start until bootstrap is complete.`,
      ...host.open,
    ],
    remove: [words("Ask them to take it away again")`No longer allow ${traffic}.`, ...host.remove],
    notes: [
      "Nodes and bootstrap host in one subnet with nothing between them need no rule.",
      "RHCOS filters nothing on the bootstrap host itself; the commands for a host are for other systems.",
    ],
  };
}

const guards: Partial<Readonly<Record<Platform, string>>> = {
  vsphere: "NSX distributed firewall or the physical network between port groups",
  nutanix: "Flow network policies, or the physical network",
  baremetal: "the physical network between nodes and provisioning host (the bootstrap machine runs on the latter)",
  powervc: "the network behind PowerVC, which has no security groups that the installer could use",
  ovirt: "network filters of the vNIC profile, or the physical network",
};
