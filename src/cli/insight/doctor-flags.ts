import { DEFAULT_STATE_DIRECTORY } from "../../cluster/bootstrap/host/record.js";
import { topologies } from "../../cluster/bootstrap/model/names.js";
import type { DoctorSettings } from "../../insight/diagnosis/open-context.js";
import { roles } from "../../insight/diagnosis/programs.js";
import { choice } from "../flags/choice.js";
import type { FlagSet } from "../flags/flag-set.js";
import { integer, string, stringSlice } from "../flags/flag-value.js";

export type DoctorFlags = ReturnType<typeof addDoctorFlags>;

/** Where to look; support takes the same. The return type is inferred: one entry for each flag. */
export function addDoctorFlags(set: FlagSet) {
  const text = (name: string, usage: string) => set.add(name, string, "", usage);
  const network = (name: string, what: string) =>
    set.add(name, stringSlice, [], `Prefix of ${what}; repeatable. If empty, from --dir, the cluster or this host.`);
  return {
    role: set.add("role", choice(...roles), undefined, "Where this is. If empty, found out."),
    for: set.add("for", choice(...topologies), undefined, "Kind of control plane. If empty, found out."),
    address: text(
      "address",
      "Where agents dial the server, or machines the Ignition server. If empty, as the agent here, the address's record, the certificates or the clusters say.",
    ),
    agentPort: set.add("agent-port", integer, 0, "Port that agents dial. If 0, as the program here has it."),
    healthPort: set.add("health-port", integer, 0, "Health port of the program here. If 0, as it was started."),
    adminPort: set.add("admin-port", integer, 0, "Admin port of the server. If 0, as it was started."),
    pki: text("pki", "Directory of the certificates. If empty, the bridge's own."),
    socket: text("socket", "The server's Unix socket. If empty, as it was started, or the bridge's own."),
    egressConfig: text(
      "egress-config",
      "The kube-apiserver's EgressSelectorConfiguration. If empty, the bridge's own.",
    ),
    kubeconfig: text(
      "kubeconfig",
      "Kubeconfig to look at the cluster with. If empty, from --dir, the program here, else the host's usual one.",
    ),
    namespace: text("namespace", "Of pools, tokens and leases. If empty, as the program here has it."),
    stateDirectory: set.add(
      "state-dir",
      string,
      DEFAULT_STATE_DIRECTORY,
      "Where up keeps its record, which tells whatever no flag says.",
    ),
    dir: text("dir", "Install directory of openshift-install."),
    machineNetwork: network("machine-network", "the hosts"),
    podNetwork: network("pod-network", "the pods"),
    serviceNetwork: network("service-network", "the services"),
  };
}

/** The process that doctor asks about itself. */
export function addAdminOfDoctor(set: FlagSet) {
  return {
    admin: set.add(
      "admin",
      string,
      "",
      "Admin port of the process, http://127.0.0.1:8095 say. If empty, as it was started.",
    ),
    tokenFile: set.add(
      "token-file",
      string,
      process.env.DRAWBRIDGE_ADMIN_TOKEN_FILE ?? "",
      "File with its admin token. If empty, DRAWBRIDGE_ADMIN_TOKEN_FILE, then its own --admin-token-file.",
    ),
    caFile: set.add(
      "ca-file",
      string,
      "",
      "Who signed the admin port's certificate. If empty, the system's authorities.",
    ),
  };
}

export type AdminOfDoctor = ReturnType<typeof addAdminOfDoctor>;

export function doctorSettings(flags: DoctorFlags, admin?: AdminOfDoctor): DoctorSettings {
  const { address, agentPort, egressConfig, healthPort, adminPort, kubeconfig, namespace, pki, role, socket } = flags;
  return {
    ...{ role: role.value, topology: flags.for.value, address: address.value, agentPort: agentPort.value },
    ...{ healthPort: healthPort.value, adminPort: adminPort.value, pki: pki.value, socket: socket.value },
    ...{ egressConfig: egressConfig.value, kubeconfig: kubeconfig.value, namespace: namespace.value },
    stateDirectory: { path: flags.stateDirectory.value, isGiven: flags.stateDirectory.changed },
    installDirectory: flags.dir.value,
    networks: {
      ...{ machine: flags.machineNetwork.value, pod: flags.podNetwork.value, service: flags.serviceNetwork.value },
    },
    admin: {
      ...{ url: admin?.admin.value ?? "", tokenFile: admin?.tokenFile.value ?? "", caFile: admin?.caFile.value ?? "" },
    },
    sidecarSettings: async (running) => (await import("./doctor-sidecar.js")).sidecarSettings(running),
  };
}
