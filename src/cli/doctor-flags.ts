import { defaultStateDirectory } from "../bootstrap/host/record.js";
import { topologies } from "../bootstrap/model/names.js";
import { roles } from "../doctor/diagnosis.js";
import { choice } from "./flags/choice.js";
import { FlagSet } from "./flags/flag-set.js";
import { boolean, integer, string, stringSlice } from "./flags/flag-value.js";

export type DoctorFlags = ReturnType<typeof declareDoctorFlags>["flags"];

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function declareDoctorFlags(program: string) {
  const set = new FlagSet();
  const text = (name: string, usage: string) => set.add(name, string, "", usage);
  const network = (name: string, what: string) =>
    set.add(name, stringSlice, [], `Prefix of ${what}; repeatable. If empty, from --dir, the cluster or this host.`);
  const flags = {
    help: set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" }),
    role: set.add("role", choice(...roles), undefined, "Where this is. If empty, found out."),
    for: set.add("for", choice(...topologies), undefined, "Kind of control plane. If empty, found out."),
    address: text(
      "address",
      "Where agents dial the server. If empty, as the agent here, the address's record or the certificates say.",
    ),
    agentPort: set.add("agent-port", integer, 0, "Port that agents dial. If 0, the bridge's own."),
    healthPort: set.add("health-port", integer, 0, "Health port of the program here. If 0, the bridge's own."),
    adminPort: set.add("admin-port", integer, 0, "Admin port of the server. If 0, the bridge's own."),
    pki: text("pki", "Directory of the certificates. If empty, the bridge's own."),
    socket: text("socket", "The server's Unix socket. If empty, the bridge's own."),
    egressConfig: text(
      "egress-config",
      "The kube-apiserver's EgressSelectorConfiguration. If empty, the bridge's own.",
    ),
    kubeconfig: text(
      "kubeconfig",
      "Kubeconfig to look at the cluster with. If empty, from --dir, else the host's usual one.",
    ),
    stateDirectory: set.add(
      "state-dir",
      string,
      defaultStateDirectory,
      "Where up keeps its record, which tells whatever no flag says.",
    ),
    dir: text("dir", "Install directory of openshift-install."),
    machineNetwork: network("machine-network", "the hosts"),
    podNetwork: network("pod-network", "the pods"),
    serviceNetwork: network("service-network", "the services"),
    output: set.add("output", choice("text", "json"), undefined, "For people or for scripts. If empty, text."),
  };
  return { set, flags };
}
