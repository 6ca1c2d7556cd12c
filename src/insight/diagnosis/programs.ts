/** The programs that doctor knows: how they are recognised, which ports they open, and which of them is here. */
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { joinHostPort, splitHostPort } from "../../base/address.js";
import { isBridgeHost } from "../../cluster/bootstrap/gather/plan.js";
import type { Topology } from "../../cluster/bootstrap/model/names.js";
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

export const programs = ["server", "agent", "sidecar", "ignition", "nodepool", "approver"] as const;

export type ProgramKind = (typeof programs)[number];

/** The names used in messages. */
export const titles: Readonly<Record<ProgramKind, string>> = {
  server: "proxy-server",
  agent: "proxy-agent",
  sidecar: "sidecar",
  ignition: "Ignition server",
  nodepool: "pool controller",
  approver: "CSR approver",
};

/** The program that a role is about; none on a workstation. */
export function programOf(role: DoctorRole): ProgramKind | undefined {
  if (role === "bootstrap") return "server";
  return role === "workstation" ? undefined : role;
}

/** HyperShift's names for what is a sidecar here. */
export const sidecarNames = ["sidecar", "konnectivity-socks5-proxy", "konnectivity-https-proxy"] as const;

/** The first words of each program's command line, behind a runtime if there is one. */
const spellings: Readonly<Record<Exclude<ProgramKind, "server">, readonly string[]>> = {
  agent: ["proxy-agent", "drawbridge agent"],
  sidecar: [...sidecarNames.map((name) => `drawbridge ${name}`), ...sidecarNames.slice(1)],
  ignition: ["drawbridge ignition serve"],
  nodepool: ["drawbridge nodepool controller"],
  approver: ["drawbridge csr approver"],
};

export function isProgram(program: ProgramKind, words: readonly string[]): boolean {
  if (program === "server") return isProxyServer(words);
  const names = words.slice(0, 4).map((word) => basename(word));
  const lines = [names, names.slice(1)].map((line) => `${line.join(" ")} `);
  return spellings[program].some((spelling) => lines.some((line) => line.startsWith(`${spelling} `)));
}

const bootstrapHost = ["/usr/local/bin/bootkube.sh", "/opt/openshift"];
const controlPlane = ["/etc/kubernetes/manifests/kube-apiserver.yaml", "/etc/kubernetes/pki/apiserver.crt"];

export async function detectRole(host: Pick<DoctorHost, "running">, env: NodeJS.ProcessEnv): Promise<DoctorRole> {
  if ((await host.running("agent")) !== undefined) return "agent";
  if (bootstrapHost.some(existsSync)) return "bootstrap";
  for (const program of programs) if ((await host.running(program)) !== undefined) return program;
  if (isBridgeHost()) return "server";
  // A pod without any other program is taken for the place of an agent.
  if (env.KUBERNETES_SERVICE_HOST) return "agent";
  return controlPlane.some(existsSync) ? "server" : "workstation";
}

export function detectTopology(): Topology {
  if (bootstrapHost.some(existsSync)) return "openshift";
  return controlPlane.some(existsSync) ? "kubeadm" : "bare";
}

interface PortFlags {
  /** A flag with `host:port`, or two with either. */
  readonly address?: string;
  readonly host: string;
  readonly port: string;
  /** The default of the flag; 0: no port is opened. */
  readonly otherwise: number;
}

const healthFlags: Readonly<Record<ProgramKind, PortFlags>> = {
  server: { host: "health-bind-address", port: "health-port", otherwise: 8092 },
  agent: { host: "health-bind-address", port: "health-server-port", otherwise: 8093 },
  sidecar: { host: "health-bind-address", port: "health-port", otherwise: 8095 },
  ignition: { address: "metrics-addr", host: "", port: "", otherwise: 8080 },
  nodepool: { host: "health-bind-address", port: "health-port", otherwise: 0 },
  approver: { host: "health-bind-address", port: "health-port", otherwise: 0 },
};

const adminFlags: Readonly<Partial<Record<ProgramKind, PortFlags>>> = {
  server: { host: "admin-bind-address", port: "admin-port", otherwise: 8095 },
  agent: { host: "admin-bind-address", port: "admin-server-port", otherwise: 8094 },
  sidecar: { host: "admin-bind-address", port: "admin-port", otherwise: 0 },
  ignition: { address: "admin-addr", host: "", port: "", otherwise: 0 },
};

export interface OwnPort {
  /** As it can be dialled from the same host. */
  readonly host: string;
  readonly port: number;
  /** `host:port` */
  readonly text: string;
}

/** Undefined: it has none. `otherwise`: the port of a program whose flags do not name it. */
export function healthPortOf(program: ProgramKind, running: RunningProgram, otherwise?: number): OwnPort | undefined {
  const flags = healthFlags[program];
  return portOf({ ...flags, otherwise: otherwise ?? (isHyperShifts(running) ? 0 : flags.otherwise) }, running);
}

export function adminPortOf(program: ProgramKind, running: RunningProgram): OwnPort | undefined {
  const flags = adminFlags[program];
  return flags && portOf(flags, running);
}

/** Two of these share a pod, so neither opens a health port by itself. */
function isHyperShifts({ words }: RunningProgram): boolean {
  return sidecarNames.slice(1).some((name) => words.slice(0, 3).some((word) => word.endsWith(name)));
}

function portOf({ address, host, port, otherwise }: PortFlags, { flags }: RunningProgram): OwnPort | undefined {
  const split = address === undefined ? undefined : splitHostPort(flags.get(address) ?? `:${otherwise}`);
  const [where, number] =
    split === undefined
      ? [flags.get(host) ?? "", flags.get(port)]
      : "error" in split
        ? ["", "0"]
        : [split.host, split.port];
  const given = Number(number ?? otherwise);
  if (!Number.isInteger(given) || given <= 0) return undefined;
  const dialled = dialableHost(where);
  return { host: dialled, port: given, text: joinHostPort(dialled, given) };
}

/** A listener on all addresses is dialled on the loopback address. */
export function dialableHost(bound: string): string {
  return ["", "0.0.0.0", "::"].includes(bound) ? "127.0.0.1" : bound;
}
