/** The programs that doctor knows: how they are recognised, which ports they open, and which of them is here. */
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { joinHostPort, splitHostPort } from "../../base/address.js";
import { isBridgeHost } from "../../cluster/bootstrap/gather/plan.js";
import { bridgeModel } from "../../cluster/bootstrap/model/model.js";
import { ports, type Topology, topologies } from "../../cluster/bootstrap/model/names.js";
import { isProxyServer } from "../../cluster/bootstrap/settings/programs.js";
import type { RunningProgram } from "./facts.js";
import type { DoctorHost } from "./host/this-host.js";

/** Where a bridge is built, runs, or is managed from. */
export const bridgeRoles = ["server", "agent", "bootstrap", "workstation"] as const;

export const roles = [...bridgeRoles, "sidecar", "ignition", "nodepool", "approver"] as const;

/**
 * Where doctor runs: beside a server, beside an agent, on an OpenShift bootstrap host, beside a sidecar, an Ignition
 * server, a pool controller or a CSR approver, or somewhere else.
 */
export type DoctorRole = (typeof roles)[number];

/** HyperShift's names for what is a sidecar here. */
export const sidecarNames = ["sidecar", "konnectivity-socks5-proxy", "konnectivity-https-proxy"] as const;

interface PortFlags {
  /** A flag with `host:port`, or two with either. */
  readonly address?: string;
  readonly host?: string;
  readonly port?: string;
  /** The default of the flag; 0: no port is opened. */
  readonly usual: number;
}

const healthAt = (usual: number, port = "health-port", host = "health-bind-address"): PortFlags => ({
  ...{ host, port, usual },
});
const adminAt = (usual: number, port = "admin-port"): PortFlags => ({ host: "admin-bind-address", port, usual });

/**
 * `title` is the name used in messages, `spellings` are the first words of the command line behind a runtime if there is
 * one; `start` says what to do when the program does not run, `unready` when it is not ready.
 */
export const PROGRAMS = {
  server: {
    ...{ title: "proxy-server", spellings: [], health: healthAt(8092), admin: adminAt(8095) },
    start: "Start it the way it was installed: its systemd unit, its static pod or Deployment, or by hand.",
    startOfBridge: "Start it: drawbridge bootstrap up, or the unit drawbridge-bootstrap-server.service.",
    unready: (agentPort: string = String(ports.agent)) =>
      `No agent is connected: look at the agents' logs, and whether nodes reach TCP ${agentPort} (drawbridge firewall plan).`,
  },
  agent: {
    ...{ title: "proxy-agent", spellings: ["proxy-agent", "drawbridge agent"] },
    ...{
      health: healthAt(8093, "health-server-port", "health-server-host"),
      admin: adminAt(8094, "admin-server-port"),
    },
    start:
      "Start it the way it was installed: its systemd unit or by hand; of a DaemonSet, kubectl get pods -A -l app=konnectivity-agent -o wide shows the pods.",
    unready: () => "It has no server: see the check server-reachable and its own log.",
  },
  sidecar: {
    ...{ title: "sidecar", health: healthAt(8095), admin: adminAt(0) },
    spellings: [...sidecarNames.map((name) => `drawbridge ${name}`), ...sidecarNames.slice(1)],
    start: "Start drawbridge sidecar here, or name another place with --role.",
    unready: () =>
      "Its probe does not get through to an agent: see the check frontend, then drawbridge doctor beside the server.",
  },
  ignition: {
    ...{ title: "Ignition server", spellings: ["drawbridge ignition serve"] },
    health: { address: "metrics-addr", usual: 8080 } satisfies PortFlags,
    admin: { address: "admin-addr", usual: 0 } satisfies PortFlags,
    start: "Start drawbridge ignition serve here, or look at its Deployment: kubectl get pods -A.",
    unready: () => "Read its log.",
  },
  nodepool: {
    ...{ title: "pool controller", spellings: ["drawbridge nodepool controller"] },
    ...{ health: healthAt(0), admin: adminAt(0) },
    start: "Start drawbridge nodepool controller here, or look at its Deployment: kubectl get pods -A.",
    unready: () =>
      "It cannot list the pools: see its log, and that its kubeconfig and rights are there (nodepool install).",
  },
  approver: {
    ...{ title: "CSR approver", spellings: ["drawbridge csr approver"], health: healthAt(0), admin: adminAt(0) },
    start: "Start drawbridge csr approver here, or look at its Deployment: kubectl get pods -A.",
    unready: () => "Do what the answer says; drawbridge csr list shows the requests that wait.",
  },
};

/** What to do where a program does not run. */
export const startOf = (kind: ProgramKind, isBridge: boolean): string =>
  isBridge && kind === "server" ? PROGRAMS.server.startOfBridge : PROGRAMS[kind].start;

export type ProgramKind = keyof typeof PROGRAMS;

export const programs = Object.keys(PROGRAMS) as readonly ProgramKind[];

/** The program that a role is about; none on a workstation. */
export function programOf(role: DoctorRole): ProgramKind | undefined {
  if (role === "bootstrap") return "server";
  return role === "workstation" ? undefined : role;
}

export function isProgram(program: ProgramKind, words: readonly string[]): boolean {
  if (program === "server") return isProxyServer(words);
  const names = words.slice(0, 4).map((word) => basename(word));
  const lines = [names, names.slice(1)].map((line) => `${line.join(" ")} `);
  return PROGRAMS[program].spellings.some((spelling) => lines.some((line) => line.startsWith(`${spelling} `)));
}

const bootstrapHost = ["/usr/local/bin/bootkube.sh", "/opt/openshift"];
const controlPlane = ["/etc/kubernetes/manifests/kube-apiserver.yaml", "/etc/kubernetes/pki/apiserver.crt"];

/** `pid`: the process that is meant; 0: whichever is found. */
export async function detectRole(
  host: Pick<DoctorHost, "running">,
  env: NodeJS.ProcessEnv,
  pid = 0,
): Promise<DoctorRole> {
  if (pid !== 0) {
    for (const program of programs) if ((await host.running(program))?.pid === pid) return program;
    return "workstation";
  }
  if ((await host.running("agent")) !== undefined) return "agent";
  if (bootstrapHost.some(existsSync)) return "bootstrap";
  for (const program of programs) if ((await host.running(program)) !== undefined) return program;
  if (isBridgeHost()) return "server";
  // A pod without any other program is taken for the place of an agent.
  if (env.KUBERNETES_SERVICE_HOST) return "agent";
  return controlPlane.some(existsSync) ? "server" : "workstation";
}

/** By what a bridge of each kind leaves on its host, else by the kind of host. */
export function topologyOfThisHost(): Topology {
  const isLeft = (topology: Topology): boolean => {
    const { egressConfig, socket } = bridgeModel({ for: topology }).paths;
    return existsSync(egressConfig.host) || (topology === "openshift" && existsSync(socket.host));
  };
  const left = topologies.find(isLeft);
  if (left !== undefined) return left;
  if (bootstrapHost.some(existsSync)) return "openshift";
  return [...controlPlane, "/etc/kubernetes/admin.conf"].some(existsSync) ? "kubeadm" : "bare";
}

/** Undefined: it has none. `otherwise`: the port of a program whose flags do not name it. */
export function healthPortOf(program: ProgramKind, running: RunningProgram, otherwise?: number) {
  const flags = PROGRAMS[program].health;
  return portOf({ ...flags, usual: otherwise ?? (isHyperShifts(running) ? 0 : flags.usual) }, running);
}

/** The flag that opens a program's health port. */
export function healthFlagOf(program: ProgramKind): string {
  const { address, port = "" }: PortFlags = PROGRAMS[program].health;
  return address ?? port;
}

export const adminPortOf = (program: ProgramKind, running: RunningProgram) => portOf(PROGRAMS[program].admin, running);

/** Two of these share a pod, so neither opens a health port by itself. */
function isHyperShifts({ words }: RunningProgram): boolean {
  return sidecarNames.slice(1).some((name) => words.slice(0, 3).some((word) => word.endsWith(name)));
}

/** As it can be dialled from the same host; `text` is `host:port`. */
function portOf({ address, host = "", port = "", usual }: PortFlags, { flags }: RunningProgram) {
  const split =
    address === undefined
      ? { host: flags.get(host) ?? "", port: flags.get(port) ?? usual }
      : splitHostPort(flags.get(address) ?? `:${usual}`);
  const given = "error" in split ? 0 : Number(split.port);
  if ("error" in split || !Number.isInteger(given) || given <= 0) return undefined;
  return { port: given, text: joinHostPort(dialableHost(split.host), given) };
}

/** A listener on all addresses is dialled on the loopback address. */
export function dialableHost(bound: string): string {
  return ["", "0.0.0.0", "::"].includes(bound) ? "127.0.0.1" : bound;
}
