import { platforms } from "../../cluster/bootstrap/firewall/plan.js";
import { DEFAULT_STATE_DIRECTORY } from "../../cluster/bootstrap/host/record.js";
import { topologies } from "../../cluster/bootstrap/model/names.js";
import type { TeardownOptions } from "../../cluster/bootstrap/teardown/teardown.js";
import { choice } from "../flags/choice.js";
import { FlagSet } from "../flags/flag-set.js";
import { boolean, duration, string, stringSlice } from "../flags/flag-value.js";
import { parseGoDuration } from "../flags/go-duration.js";
import { declareSshFlags } from "./ssh.js";

export type TeardownFlags = ReturnType<typeof declareTeardownFlags>["flags"];

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function declareTeardownFlags(program: string) {
  const set = new FlagSet();
  const text = (name: string, usage: string) => set.add(name, string, "", usage);
  const yesNo = (name: string, usage: string) => set.add(name, boolean, false, usage);
  const flags = {
    help: set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" }),
    for: set.add(
      "for-platform",
      choice(...topologies),
      undefined,
      "What kind of control plane the bridge was for. If empty, as recorded, else as host and cluster look.",
    ),
    kubeconfig: text("kubeconfig", "An administrator's access. If empty, KUBECONFIG, then the one that up used."),
    dir: text(
      "dir",
      "Install directory of openshift-install on a workstation: cleans the cluster of its auth/kubeconfig and, where it still answers over SSH, the bootstrap host; not this host.",
    ),
    ...declareSshFlags(set, "The bootstrap host, with --dir. If empty, as --dir says."),
    timeout: set.add("timeout", duration, parseGoDuration("2m"), "The whole teardown takes no longer than this."),
    receipt: text("receipt", "File for the receipt as JSON; the same as Markdown goes beside it, ending in .md."),
    force: yesNo("force", "Go on although a kube-apiserver still uses the bridge and its webhooks will fail."),
    restoreCommand: text(
      "restore-command",
      "Shell command that restarts a bare kube-apiserver without the flag. If empty, the one that up was given.",
    ),
    platform: set.add(
      "platform",
      choice(...platforms),
      undefined,
      "Whose firewall the receipt speaks of. If empty, as the cluster says, else the host's own.",
    ),
    upi: yesNo("upi", "The infrastructure is user-provisioned."),
    byoNetwork: yesNo("byo-network", "The installer's machines stand in a network of your own."),
    infraId: text("infra-id", "Infrastructure ID of the cluster. If empty, as the cluster says."),
    machineNetwork: set.add(
      "machine-network",
      stringSlice,
      [],
      "Prefix of the nodes; repeatable. If empty, as the cluster says.",
    ),
    stateDirectory: set.add("state-dir", string, DEFAULT_STATE_DIRECTORY, "Where the bridge's record and backups are."),
    output: set.add("output", choice("text", "json"), undefined, "For people or for scripts. If empty, text."),
  };
  return { set, flags };
}

export function teardownWishes(flags: TeardownFlags, kubeconfig: string): TeardownOptions {
  const given = (flag: { readonly value: string }): string | undefined => flag.value || undefined;
  return {
    for: flags.for.value,
    kubeconfig,
    stateDirectory: flags.stateDirectory.value,
    timeoutMs: Number(flags.timeout.value / 1_000_000n),
    force: flags.force.value,
    restoreCommand: given(flags.restoreCommand),
    firewall: {
      platform: flags.platform.value,
      upi: flags.upi.value,
      byoNetwork: flags.byoNetwork.value,
      infraId: given(flags.infraId),
      machineNetworks: flags.machineNetwork.value,
    },
  };
}
