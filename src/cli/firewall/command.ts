/** `drawbridge firewall plan`, `patch` and `remove`: what the network must let through for the bridge. */
import { firewallPlan, showPlan } from "../../cluster/bootstrap/firewall/make-plan.js";
import { patchManifest } from "../../cluster/bootstrap/firewall/manifest/patch.js";
import {
  type ClusterNetwork,
  completedNetwork,
  type PlanInput,
  platforms,
} from "../../cluster/bootstrap/firewall/plan.js";
import { readInstallDir } from "../../cluster/bootstrap/install-dir.js";
import { firewallRule } from "../../cluster/bootstrap/model/created.js";
import { bridgeModel } from "../../cluster/bootstrap/model/model.js";
import { filePath, list, oneOf, text, type Values, yesNo } from "../flags/flag.js";
import { missing } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";

/** Facts about an OpenShift cluster's network. */
export const networkFlags = (source: string) => ({
  platform: oneOf(platforms, `Platform of the cluster, which says whose firewall it is. If empty, ${source}.`),
  upi: yesNo("Say that the infrastructure is user-provisioned."),
  "byo-network": yesNo("Say that the installer's machines are in a network of your own."),
  "infra-id": text(`Infrastructure ID of the cluster. If empty, ${source}.`),
  "machine-network": list(`Prefix of the nodes; repeatable. If empty, ${source}.`),
});

type NetworkFlags = Values<ReturnType<typeof networkFlags>>;

export const networkOf = ({ platform, upi, byoNetwork, infraId, machineNetwork }: NetworkFlags): ClusterNetwork => ({
  ...{ platform, upi, byoNetwork, infraId: infraId || undefined, machineNetworks: machineNetwork },
});

const firewallFlags = { ...networkFlags("as --dir says"), dir: filePath("Install directory of openshift-install.") };

type FirewallFlags = Values<typeof firewallFlags>;

export const firewallPlanCommand = defineCommand({
  purpose: "Says what to open, who does it and when, and how it is closed again.",
  examples: ["drawbridge firewall plan --platform aws", "drawbridge firewall plan --dir install"],
  flags: firewallFlags,
  async run(flags) {
    const plan = firewallPlan(await complete(flags));
    return { plan, text: showPlan(plan) };
  },
  show: { text: ({ text }) => text, json: ({ plan }) => plan },
});

export const firewallPatch = defineCommand({
  purpose: "Opens the port in the installer's manifests before create cluster.",
  examples: ["drawbridge firewall patch --dir install"],
  flags: firewallFlags,
  run: (flags) => edit(flags, "open"),
  show: { text: ({ text }) => text, json: ({ result }) => result },
});

export const firewallRemove = defineCommand({
  purpose: "Takes what patch opened out of the installer's manifests again.",
  examples: ["drawbridge firewall remove --dir install"],
  flags: firewallFlags,
  run: (flags) => edit(flags, "close"),
  show: { text: ({ text }) => text, json: ({ result }) => result },
});

async function edit(flags: FirewallFlags, direction: "open" | "close") {
  const { dir } = flags;
  if (dir === "") throw missing("--dir must name the install directory.");
  const { platform, rule } = await complete(flags);
  const result = await patchManifest({ dir, platform, rule, direction });
  const { file, kind, cluster, changed, changes, notes } = result;
  const verb = direction === "open" ? "opened" : "closed";
  const lines = changes.map(({ where, rule: opened }) => `${verb}: ${opened} (${where})`);
  const head = `${file} (${kind} ${cluster}): ${changed ? "changed" : "unchanged"}`;
  return { result, text: `${[head, ...lines, ...notes].join("\n")}\n` };
}

/** Flags first, then what the install directory says. */
async function complete({ dir, ...flags }: FirewallFlags): Promise<PlanInput> {
  const network = completedNetwork(networkOf(flags), dir === "" ? {} : await readInstallDir(dir));
  const { platform } = network;
  if (platform === undefined) throw missing(`--platform must be one of ${platforms.join(", ")}.`);
  return { ...network, platform, rule: firewallRule(bridgeModel({ for: "openshift" })) };
}
