/** The place that doctor diagnoses: the values of flags, completed by the processes and files of this host. */
import { existsSync } from "node:fs";
import { DrawbridgeError } from "../../base/errors/error.js";
import { isBridgeHost } from "../../cluster/bootstrap/gather/plan.js";
import { type BridgeRecord, recordedHere } from "../../cluster/bootstrap/host/record.js";
import { type BridgeCluster, chosenCluster } from "../../cluster/bootstrap/host/step.js";
import { openInstallDirectory } from "../../cluster/bootstrap/install-dir.js";
import { type BridgeModel, bridgeModel } from "../../cluster/bootstrap/model/model.js";
import { ports, type Topology } from "../../cluster/bootstrap/model/names.js";
import type { RunningProgram, SidecarSettings } from "./facts.js";
import type { AgentSettings } from "./host/as-agent.js";
import { type DoctorHost, doctorHost, isTrusted, processFile } from "./host/this-host.js";
import { type DoctorRole, detectRole, PROGRAMS, type ProgramKind, programOf, topologyOfThisHost } from "./programs.js";

/**
 * The values of doctor's flags. What is empty, 0 or undefined is found out. `dir` is the install directory of
 * openshift-install, `admin` the URL of an admin port.
 */
export interface DoctorSettings
  extends Readonly<Record<"dir" | "address" | "pki" | "socket" | "egressConfig" | "namespace" | "stateDir", string>>,
    Readonly<Record<"admin" | "tokenFile" | "caFile", string>>,
    Readonly<Record<"pid" | "agentPort" | "healthPort" | "adminPort", number>>,
    Readonly<Record<"machineNetwork" | "podNetwork" | "serviceNetwork", readonly string[]>>,
    BridgeCluster {
  readonly role: DoctorRole | undefined;
  readonly for: Topology | undefined;
  readonly isStateDirGiven: boolean;
  readonly programSettings: ProgramSettings;
}

/** Parse the flags of a running program. Throw CheckFailure when they cannot be understood. */
export interface ProgramSettings {
  agent(running: RunningProgram): Promise<AgentSettings>;
  sidecar(running: RunningProgram): Promise<SidecarSettings>;
}

/** The same, with what was found out. An address or kubeconfig that is still empty is not known. */
export interface DoctorPlace extends DoctorSettings {
  readonly role: DoctorRole;
  readonly isAddressGiven: boolean;
  /** By --socket or by the running server's own flags. */
  readonly isSocketGiven: boolean;
  /** Whether a bridge was made on this host; a server may have been installed in other ways. */
  readonly isBridge: boolean;
  readonly model: BridgeModel;
  readonly host: DoctorHost;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
}

export async function findPlace(settings: DoctorSettings): Promise<DoctorPlace> {
  const host = doctorHost(settings.pid);
  const role = settings.role ?? (await detectRole(host, process.env, settings.pid));
  const program = programOf(role);
  const running = program && (await host.running(program));
  if (settings.pid !== 0 && running?.pid !== settings.pid) throw notFound(settings.pid, program);
  const record = await recordOf(settings, role);
  const topology = settings.for ?? (settings.dir === "" ? topologyOfThisHost() : "openshift");
  const model = bridgeModel(record?.options ?? { for: topology });
  const pki = settings.pki || (role === "agent" ? "/etc/konnectivity" : model.paths.pki.host);
  const egressConfig = settings.egressConfig || model.paths.egressConfig.host;
  const port = running?.flags.get(role === "agent" ? "proxy-server-port" : "agent-port");
  return {
    ...{ ...settings, role, model, host, pki, egressConfig, env: process.env, now: () => new Date() },
    isAddressGiven: settings.address !== "",
    isSocketGiven: (settings.socket || running?.flags.get("uds-name") || "") !== "",
    isBridge: record !== undefined || isBridgeHost(),
    address:
      settings.address || running?.flags.get("proxy-server-host") || (record?.options.serverAddresses?.[0] ?? ""),
    agentPort: settings.agentPort || Number(port ?? ports.agent),
    // A path inside another container is not on this host.
    socket: settings.socket || existing(running?.flags.get("uds-name")) || model.paths.socket.host,
    ...(await clusterOf(settings, role, running, record)),
    namespace: settings.namespace || running?.flags.get("namespace") || "drawbridge",
  };
}

function notFound(pid: number, program: ProgramKind | undefined): DrawbridgeError {
  const what = program === undefined ? "program that doctor knows" : PROGRAMS[program].title;
  if (!existsSync(`/proc/${pid}`))
    return new DrawbridgeError("DB_FLAG_VALUE", `--pid ${pid}: there is no such process here.`);
  const message = `--pid ${pid} is no ${what} in this network; for a process in another one run nsenter --target ${pid} --net drawbridge doctor --pid ${pid}.`;
  return new DrawbridgeError("DB_FLAG_VALUE", message);
}

const existing = (path = ""): string => (existsSync(path) ? path : "");

/** The record of `up`, where it may have run and no other kind of bridge is meant. */
async function recordOf(
  { stateDir, isStateDirGiven, for: topology }: DoctorSettings,
  role: DoctorRole,
): Promise<BridgeRecord | undefined> {
  if (role !== "server" && !isStateDirGiven) return undefined;
  const found = await recordedHere(stateDir, isStateDirGiven);
  return topology === undefined || topology === found?.options.for ? found : undefined;
}

async function clusterOf(
  { dir, kubeconfig, context }: DoctorSettings,
  role: DoctorRole,
  running: RunningProgram | undefined,
  record: BridgeRecord | undefined,
): Promise<BridgeCluster> {
  const directory = dir === "" ? undefined : await openInstallDirectory(dir);
  const installed = (await directory?.kubeconfig().catch(() => undefined)) ?? "";
  const given = { kubeconfig: kubeconfig || installed, context };
  const { kubeconfig: chosen, context: ofIt } = chosenCluster(given, record);
  return { kubeconfig: chosen || usualKubeconfig(role, running), context: ofIt };
}

function usualKubeconfig(role: DoctorRole, running: RunningProgram | undefined): string {
  if (role === "workstation") return process.env.KUBECONFIG ?? "";
  if (role === "server") return existing("/etc/kubernetes/admin.conf");
  if (role === "bootstrap") return existing("/opt/openshift/auth/kubeconfig-loopback");
  const own = worksOnObjects(role) ? running?.flags.get("kubeconfig") : undefined;
  return own && running && isTrusted(running.pid) ? processFile(running.pid, own) : "";
}

/** Whether the role is about a program that works on objects of a cluster, its own if there is no kubeconfig. */
export const worksOnObjects = (role: DoctorRole): boolean =>
  role === "ignition" || role === "nodepool" || role === "approver";
