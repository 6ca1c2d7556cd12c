/** What doctor's checks are given: what flags say, what runs here, and what lies about. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf } from "../../base/errors/error.js";
import type { BridgeRecord } from "../../cluster/bootstrap/host/record.js";
import { bridgeModel } from "../../cluster/bootstrap/model/model.js";
import { ports } from "../../cluster/bootstrap/model/names.js";
import type { DoctorContext, RunningProgram } from "../../insight/diagnosis/context.js";
import type { Role } from "../../insight/diagnosis/diagnosis.js";
import { processFile } from "../../insight/diagnosis/host/process-file.js";
import { adminView, type SaidAdmin } from "./doctor-admin.js";
import type { DoctorFlags } from "./doctor-flags.js";

export async function doctorContext(flags: DoctorFlags, admin: SaidAdmin): Promise<DoctorContext> {
  const [{ thisHost }, { detectRole, detectTopology }, { findNetworks }, { programOf }, ownPort] = await Promise.all([
    import("../../insight/diagnosis/host/this-host.js"),
    import("../../insight/diagnosis/role.js"),
    import("../../insight/diagnosis/find-networks.js"),
    import("../../insight/diagnosis/program.js"),
    import("../../insight/diagnosis/own-port.js"),
  ]);
  const host = thisHost();
  const role = flags.role.value ?? (await detectRole(host, process.env));
  const program = programOf(role);
  const running = program && (await host.running(program));
  const record = await recordOf(flags, role);
  const topology = flags.for.value ?? (flags.dir.value === "" ? detectTopology() : "openshift");
  const model = bridgeModel(record?.options ?? { for: topology });
  const pki = flags.pki.value || (role === "agent" ? "/etc/konnectivity" : model.paths.pki.host);
  const egressConfig = flags.egressConfig.value || model.paths.egressConfig.host;
  const cluster = await clusterOf(flags, role, running, record?.kubeconfig);
  const said = {
    machine: flags.machineNetwork.value,
    pod: flags.podNetwork.value,
    service: flags.serviceNetwork.value,
  };
  const networks = await findNetworks({
    said,
    installDirectory: flags.dir.value || undefined,
    api: typeof cluster === "object" ? cluster.api : undefined,
    role,
  });
  // A program that runs here knows better than the bridge it may have nothing to do with.
  const own = {
    health: program && running && (ownPort.healthPortOf(program, running)?.port ?? 0),
    admin: program && running && ownPort.adminPortOf(program, running)?.port,
    // A path of another container's is none of this host's.
    socket: existing(running?.flags.get("uds-name")),
  };
  return {
    ...{ role, model, host, pki, cluster, networks },
    env: process.env,
    now: () => new Date(),
    ...(await target(flags, role, running, [pki, dirname(egressConfig)])),
    socket: flags.socket.value || own.socket || model.paths.socket.host,
    egressConfig,
    ports: {
      health: flags.healthPort.value || (own.health ?? ports.health),
      admin: flags.adminPort.value || (own.admin ?? ports.admin),
    },
    admin: await adminView(admin, role, host),
    sidecar: role === "sidecar" ? await waysOf(running) : undefined,
    objects: await objectsOf(flags, role, running),
  };
}

const existing = (path = ""): string | undefined => (existsSync(path) ? path : undefined);

/** What `up` wrote down, where it may have run and no other kind of bridge is meant. */
async function recordOf({ stateDirectory, for: topology }: DoctorFlags, role: Role): Promise<BridgeRecord | undefined> {
  if (role !== "server" && !stateDirectory.changed) return undefined;
  const { recordedHere } = await import("../../cluster/bootstrap/host/recorded.js");
  const found = await recordedHere(stateDirectory.value, stateDirectory.changed);
  return topology.value === undefined || topology.value === found?.options.for ? found : undefined;
}

/** Where agents dial: said, or what the agent here was told, or what the bridge was made for. */
async function target(
  flags: DoctorFlags,
  role: Role,
  running: RunningProgram | undefined,
  places: readonly string[],
): Promise<Pick<DoctorContext, "address" | "agentPort">> {
  const { findAddressRecord } = await import("../../cluster/bootstrap/address/index.js");
  const isBridges = role === "server" || role === "bootstrap" || role === "workstation";
  const recorded = isBridges ? await findAddressRecord(places) : undefined;
  const told = running?.flags.get(role === "agent" ? "proxy-server-port" : "agent-port");
  return {
    address: flags.address.value || running?.flags.get("proxy-server-host") || recorded?.target,
    agentPort: flags.agentPort.value || Number(told ?? ports.agent),
  };
}

/** Where a kubeconfig lies by itself. */
const usual: Readonly<Partial<Record<Role, string>>> = {
  server: "/etc/kubernetes/admin.conf",
  bootstrap: "/opt/openshift/auth/kubeconfig-loopback",
  workstation: process.env.KUBECONFIG?.split(":")[0] ?? "",
};

async function clusterOf(
  flags: DoctorFlags,
  role: Role,
  running: RunningProgram | undefined,
  recorded: string | undefined,
): Promise<DoctorContext["cluster"]> {
  const { openInstallDirectory } = await import("../../cluster/bootstrap/install-dir/index.js");
  const directory = flags.dir.value === "" ? undefined : await openInstallDirectory(flags.dir.value);
  const installed = await directory?.kubeconfig().catch(() => undefined);
  const kubeconfig = flags.kubeconfig.value || installed || recorded || theirs(role, running) || existing(usual[role]);
  if (kubeconfig === undefined) return undefined;
  const { openCluster } = await import("../../insight/diagnosis/open-cluster.js");
  return openCluster(kubeconfig);
}

/** Of the programs that work on a cluster's objects. */
function theirs(role: Role, running: RunningProgram | undefined): string | undefined {
  if (role !== "ignition" && role !== "nodepool" && role !== "approver") return undefined;
  const told = running?.flags.get("kubeconfig");
  return told && running && processFile(running.pid, told);
}

async function waysOf(running: RunningProgram | undefined): Promise<DoctorContext["sidecar"]> {
  return running && (await import("./doctor-sidecar.js")).sidecarWays(running);
}

async function objectsOf(
  flags: DoctorFlags,
  role: Role,
  running: RunningProgram | undefined,
): Promise<DoctorContext["objects"]> {
  if (role !== "ignition" && role !== "nodepool" && role !== "approver") return undefined;
  const namespace = flags.namespace.value || running?.flags.get("namespace") || "drawbridge";
  const directory = running?.flags.get("directory");
  const kubeconfig = flags.kubeconfig.value || theirs(role, running) || "";
  try {
    if (directory !== undefined && running !== undefined && flags.kubeconfig.value === "") {
      const { createDirectoryApi } = await import("../../cluster/nodes/controller/directory/api.js");
      return { api: createDirectoryApi({ directory: processFile(running.pid, directory) }), namespace };
    }
    const { openKubeApi } = await import("../../cluster/kube/open.js");
    return { api: await openKubeApi({ kubeconfig, qps: 0, burst: 0 }), namespace };
  } catch (reason) {
    return messageOf(reason).replace(/\.$/, "");
  }
}

/** Whatever keeps the process from ending. */
export function closeContext({ cluster, objects }: DoctorContext): void {
  if (typeof cluster === "object") cluster.close();
  if (typeof objects === "object") objects.api.close();
}
