/** `drawbridge firewall plan`, `patch` and `remove`: what the network must let through for the bridge. */
import { firewallPlan as planOf, showPatch, showPlan } from "../../cluster/bootstrap/firewall/make-plan.js";
import { patchManifest } from "../../cluster/bootstrap/firewall/manifest/patch.js";
import { type PlanInput, platforms } from "../../cluster/bootstrap/firewall/plan.js";
import { readInstallDir } from "../../cluster/bootstrap/install-dir.js";
import { firewallRule } from "../../cluster/bootstrap/model/created.js";
import { bridgeModel } from "../../cluster/bootstrap/model/model.js";
import { list, oneOf, text, type Values, yesNo } from "../flags/flag.js";
import { refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";

/** Facts about an OpenShift cluster's network. */
export const networkFlags = (source: string) => ({
  platform: oneOf(platforms, `Platform of the cluster, which says whose firewall it is. If empty, ${source}.`),
  upi: yesNo("Say that the infrastructure is user-provisioned."),
  "byo-network": yesNo("Say that the installer's machines are in a network of your own."),
  "infra-id": text(`Infrastructure ID of the cluster. If empty, ${source}.`),
  "machine-network": list(`Prefix of the nodes; repeatable. If empty, ${source}.`),
});

const firewallFlags = { ...networkFlags("as --dir says"), dir: text("Install directory of openshift-install.") };

type FirewallFlags = Values<typeof firewallFlags>;

export const firewallPlan = defineCommand({
  purpose: "Says what to open, who does it and when, and how it is closed again.",
  examples: ["drawbridge firewall plan --platform aws", "drawbridge firewall plan --dir install"],
  flags: firewallFlags,
  async run(flags) {
    const plan = planOf(await complete(flags));
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
  if (dir === "") throw refused("--dir must name the install directory.");
  const { platform, rule } = await complete(flags);
  const result = await patchManifest({ dir, platform, rule, direction });
  return { result, text: showPatch(result, direction === "open" ? "opened" : "closed") };
}

/** Flags first, then what the install directory says. */
async function complete({ dir, ...flags }: FirewallFlags): Promise<PlanInput> {
  const found = dir === "" ? undefined : await readInstallDir(dir);
  const platform = flags.platform ?? found?.platform;
  if (platform === undefined) throw refused(`--platform must be one of ${platforms.join(", ")}.`);
  return {
    rule: firewallRule(bridgeModel({ for: "openshift" })),
    ...{ platform, upi: flags.upi, byoNetwork: flags.byoNetwork },
    infraId: flags.infraId || found?.infraId,
    machineNetworks: flags.machineNetwork.length > 0 ? flags.machineNetwork : (found?.machineNetworks ?? []),
  };
}
