/** Finds out what doctor looks at: what flags say, what runs here, and what lies on this host. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { findAddressRecord } from "../../cluster/bootstrap/address/record.js";
import { type BridgeRecord, recordedHere } from "../../cluster/bootstrap/host/record.js";
import { openInstallDirectory } from "../../cluster/bootstrap/install-dir.js";
import { bridgeModel } from "../../cluster/bootstrap/model/model.js";
import { ports, type Topology } from "../../cluster/bootstrap/model/names.js";
import type { Overview } from "../observe/admin/contract.js";
import { AdminPort } from "../watch/admin-port.js";
import type { AdminView, DoctorCluster, DoctorContext, DoctorHost, SidecarSettings } from "./context.js";
import type { RunningProgram } from "./facts.js";
import { findNetworks, type NetworkSources } from "./find-networks.js";
import { processFile, thisHost } from "./host/this-host.js";
import { adminPortOf, type DoctorRole, detectRole, detectTopology, healthPortOf, programOf } from "./programs.js";

/** What the user named; empty, 0 or undefined: find it out. */
export interface DoctorSettings {
  readonly role: DoctorRole | undefined;
  readonly topology: Topology | undefined;
  readonly address: string;
  readonly agentPort: number;
  readonly healthPort: number;
  readonly adminPort: number;
  readonly pki: string;
  readonly socket: string;
  readonly egressConfig: string;
  readonly kubeconfig: string;
  readonly namespace: string;
  /** Where `up` keeps its record. */
  readonly stateDirectory: { readonly path: string; readonly isGiven: boolean };
  readonly installDirectory: string;
  readonly networks: NetworkSources["given"];
  readonly admin: { readonly url: string; readonly tokenFile: string; readonly caFile: string };
  /** Reads the flags of a running sidecar; a sentence when they cannot be understood. */
  sidecarSettings(running: RunningProgram): Promise<SidecarSettings | string>;
}

export async function openContext(settings: DoctorSettings): Promise<DoctorContext> {
  const host = thisHost();
  const role = settings.role ?? (await detectRole(host, process.env));
  const program = programOf(role);
  const running = program && (await host.running(program));
  const record = await recordOf(settings, role);
  const topology = settings.topology ?? (settings.installDirectory === "" ? detectTopology() : "openshift");
  const model = bridgeModel(record?.options ?? { for: topology });
  const pki = settings.pki || (role === "agent" ? "/etc/konnectivity" : model.paths.pki.host);
  const egressConfig = settings.egressConfig || model.paths.egressConfig.host;
  const cluster = await clusterOf(settings, role, running, record?.kubeconfig);
  // A program that runs here knows better than the bridge it may have nothing to do with.
  const own = {
    health: program && running && (healthPortOf(program, running)?.port ?? 0),
    admin: program && running && adminPortOf(program, running)?.port,
    // A path inside another container is not on this host.
    socket: existing(running?.flags.get("uds-name")),
  };
  return {
    ...{ role, model, host, pki, egressConfig, cluster, env: process.env, now: () => new Date() },
    networks: await findNetworks({
      ...{ given: settings.networks, installDirectory: settings.installDirectory || undefined, role },
      api: typeof cluster === "object" ? cluster.api : undefined,
    }),
    ...(await target(settings, role, running, [pki, dirname(egressConfig)])),
    socket: settings.socket || own.socket || model.paths.socket.host,
    ports: {
      health: settings.healthPort || (own.health ?? ports.health),
      admin: settings.adminPort || (own.admin ?? ports.admin),
    },
    admin: await adminView(settings.admin, role, host),
    sidecar: role === "sidecar" && running ? await settings.sidecarSettings(running) : undefined,
    objects: await objectsOf(settings, role, running),
  };
}

/** Closes whatever keeps the process from ending. */
export function closeContext({ cluster, objects }: DoctorContext): void {
  if (typeof cluster === "object") cluster.close();
  if (typeof objects === "object") objects.api.close();
}

const existing = (path = ""): string | undefined => (existsSync(path) ? path : undefined);
const withoutStop = (reason: unknown): string => messageOf(reason).replace(/\.$/, "");

/** The record of `up`, where it may have run and no other kind of bridge is meant. */
async function recordOf(
  { stateDirectory, topology }: DoctorSettings,
  role: DoctorRole,
): Promise<BridgeRecord | undefined> {
  if (role !== "server" && !stateDirectory.isGiven) return undefined;
  const found = await recordedHere(stateDirectory.path, stateDirectory.isGiven);
  return topology === undefined || topology === found?.options.for ? found : undefined;
}

/** Where agents dial: given, or what the agent here was started with, or what the bridge was made for. */
async function target(
  { address, agentPort }: DoctorSettings,
  role: DoctorRole,
  running: RunningProgram | undefined,
  places: readonly string[],
): Promise<Pick<DoctorContext, "address" | "agentPort">> {
  const isBridges = role === "server" || role === "bootstrap" || role === "workstation";
  const recorded = isBridges ? await findAddressRecord(places) : undefined;
  const port = running?.flags.get(role === "agent" ? "proxy-server-port" : "agent-port");
  return {
    address: address || running?.flags.get("proxy-server-host") || recorded?.target,
    agentPort: agentPort || Number(port ?? ports.agent),
  };
}

function usualKubeconfig(role: DoctorRole): string | undefined {
  if (role === "workstation") return process.env.KUBECONFIG || undefined;
  if (role === "server") return existing("/etc/kubernetes/admin.conf");
  return role === "bootstrap" ? existing("/opt/openshift/auth/kubeconfig-loopback") : undefined;
}

async function clusterOf(
  { installDirectory, kubeconfig: given }: DoctorSettings,
  role: DoctorRole,
  running: RunningProgram | undefined,
  recorded: string | undefined,
): Promise<DoctorContext["cluster"]> {
  const directory = installDirectory === "" ? undefined : await openInstallDirectory(installDirectory);
  const installed = await directory?.kubeconfig().catch(() => undefined);
  const kubeconfig = given || installed || recorded || ownKubeconfig(role, running) || usualKubeconfig(role);
  return kubeconfig === undefined ? undefined : openCluster(kubeconfig);
}

/** A sentence instead when the kubeconfig cannot be used. */
async function openCluster(kubeconfig: string): Promise<DoctorCluster | string> {
  const [{ createKubeApi }, { kubeconfigEndpoint }, { KubeConnection }, { systemClock }] = await Promise.all([
    import("../../cluster/kube/client.js"),
    import("../../cluster/kube/kubeconfig/endpoint.js"),
    import("../../cluster/kube/connection.js"),
    import("../../base/clock.js"),
  ]);
  try {
    const endpoint = await kubeconfigEndpoint(kubeconfig);
    const api = createKubeApi(endpoint);
    const connection = new KubeConnection(endpoint, systemClock);
    return {
      api,
      server: endpoint.server,
      async date() {
        const began = performance.now();
        // Refused answers have a date as well.
        const response = await connection.open({ method: "GET", path: "/version" }, AbortSignal.timeout(10_000));
        response.resume();
        const date = new Date(response.headers.date ?? "");
        if (Number.isNaN(date.getTime())) throw new Error("its answer has no date");
        return { date, tookMs: performance.now() - began };
      },
      close() {
        api.close();
        connection.close();
      },
    };
  } catch (reason) {
    return withoutStop(reason);
  }
}

const worksOnObjects = (role: DoctorRole) => role === "ignition" || role === "nodepool" || role === "approver";

/** Of a program that works on a cluster's objects. */
function ownKubeconfig(role: DoctorRole, running: RunningProgram | undefined): string | undefined {
  const path = worksOnObjects(role) ? running?.flags.get("kubeconfig") : undefined;
  return path && running && processFile(running.pid, path);
}

async function objectsOf(
  settings: DoctorSettings,
  role: DoctorRole,
  running: RunningProgram | undefined,
): Promise<DoctorContext["objects"]> {
  if (!worksOnObjects(role)) return undefined;
  const namespace = settings.namespace || running?.flags.get("namespace") || "drawbridge";
  const directory = running?.flags.get("directory");
  const kubeconfig = settings.kubeconfig || ownKubeconfig(role, running) || "";
  try {
    if (directory !== undefined && running !== undefined && settings.kubeconfig === "") {
      const { createDirectoryApi } = await import("../../cluster/nodes/controller/directory/api.js");
      return { api: createDirectoryApi({ directory: processFile(running.pid, directory) }), namespace };
    }
    const { openKubeApi } = await import("../../cluster/kube/open.js");
    return { api: await openKubeApi({ kubeconfig, qps: 0, burst: 0 }), namespace };
  } catch (reason) {
    return withoutStop(reason);
  }
}

/** Asks whoever was named, else the program that runs here, on its admin port. */
async function adminView(given: DoctorSettings["admin"], role: DoctorRole, host: DoctorHost): Promise<AdminView> {
  const program = programOf(role);
  const running = program && (await host.running(program));
  const own = program && running && adminPortOf(program, running);
  const scheme = running?.flags.get("admin-cert-file") ? "https" : "http";
  const url = given.url || (own && `${scheme}://${own.text}`);
  if (!url)
    return { state: "closed", remedy: running ? "Start it with an admin port to see more (docs/admin-api.md)." : "" };
  const ownTokenFile = running?.flags.get("admin-token-file");
  const tokenFile = given.tokenFile || (ownTokenFile && running && processFile(running.pid, ownTokenFile));
  if (!tokenFile) {
    const remedy = "Start it with --admin-token-file, or name that file with --token-file, to see more.";
    return { state: "closed", remedy };
  }
  const token = (await host.readText(tokenFile))?.trim();
  if (token === undefined) {
    const remedy = "Run doctor as root, or name a copy of it with --token-file.";
    return { state: "failed", why: `the admin token ${tokenFile} cannot be read`, remedy };
  }
  const ca = given.caFile === "" ? undefined : await host.readText(given.caFile);
  const port = new AdminPort({ url: new URL(url), token, ca });
  try {
    // Only an agent's metrics say how many servers it looks for.
    const [overview, metrics] = await Promise.all([port.get<Overview>(""), port.text("/metrics").catch(() => "")]);
    return { state: "open", address: port.address, overview, metrics };
  } catch (reason) {
    const remedy = reason instanceof DrawbridgeError ? reason.remedy : "Check --admin and --token-file.";
    return { state: "failed", why: withoutStop(reason), remedy };
  }
}
