import type { Asked, Platform, PlatformPlan } from "../plan.js";
import { hostPlan } from "./host.js";

/** Where the installer makes no firewall at all: whoever runs the network lets nodes through. */
export function unmanagedPlan(asked: Asked): PlatformPlan {
  const { platform, rule, machineNetworks } = asked;
  const way = `TCP ${rule.port} from the nodes (${machineNetworks.join(", ")}) to the address of the bootstrap host`;
  const host = hostPlan(asked);
  return {
    where: guards[platform] ?? "whatever stands between nodes and bootstrap host",
    sources: machineNetworks,
    opened: [{ by: "you", what: "no installer opens anything here" }],
    removed: [{ by: "you", what: "no installer removes anything here" }],
    forgotten: ["Every rule that was opened for the bridge: nobody but you knows it."],
    open: [
      {
        title: "Ask whoever runs the network for this rule",
        language: "words",
        text: `Allow ${way}, from its start until bootstrap is complete.`,
      },
      ...host.open,
    ],
    remove: [
      { title: "Ask them to take it away again", language: "words", text: `No longer allow ${way}.` },
      ...host.remove,
    ],
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
