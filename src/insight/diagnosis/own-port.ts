/** Where a running program serves its health and its admin API, read from the flags it was started with. */
import { joinHostPort, splitHostPort } from "../../base/address.js";
import type { RunningProgram } from "./context.js";
import { type Program, sidecarNames } from "./program.js";

interface PortFlags {
  /** A flag with `host:port`, or two with either. */
  readonly address?: string;
  readonly host: string;
  readonly port: string;
  /** When it is not said; 0: none is opened. */
  readonly otherwise: number;
}

const health: Readonly<Record<Program, PortFlags>> = {
  server: { host: "health-bind-address", port: "health-port", otherwise: 8092 },
  agent: { host: "health-bind-address", port: "health-server-port", otherwise: 8093 },
  sidecar: { host: "health-bind-address", port: "health-port", otherwise: 8095 },
  ignition: { address: "metrics-addr", host: "", port: "", otherwise: 8080 },
  nodepool: { host: "health-bind-address", port: "health-port", otherwise: 0 },
  approver: { host: "health-bind-address", port: "health-port", otherwise: 0 },
};

const admin: Readonly<Record<Program, PortFlags | undefined>> = {
  server: { host: "admin-bind-address", port: "admin-port", otherwise: 8095 },
  agent: { host: "admin-bind-address", port: "admin-server-port", otherwise: 8094 },
  sidecar: { host: "admin-bind-address", port: "admin-port", otherwise: 0 },
  ignition: { address: "admin-addr", host: "", port: "", otherwise: 0 },
  nodepool: undefined,
  approver: undefined,
};

export interface OwnPort {
  /** As it can be dialled from the same host. */
  readonly host: string;
  readonly port: number;
  /** `host:port` */
  readonly text: string;
}

/** Undefined: it has none. `otherwise`: the port of one whose flags do not say it. */
export function healthPortOf(program: Program, running: RunningProgram, otherwise?: number): OwnPort | undefined {
  const flags = health[program];
  return portOf({ ...flags, otherwise: otherwise ?? (isHyperShifts(running) ? 0 : flags.otherwise) }, running);
}

export function adminPortOf(program: Program, running: RunningProgram): OwnPort | undefined {
  const flags = admin[program];
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
  const told = Number(number ?? otherwise);
  if (!Number.isInteger(told) || told <= 0) return undefined;
  const dialled = ["", "0.0.0.0", "::"].includes(where) ? "127.0.0.1" : where;
  return { host: dialled, port: told, text: joinHostPort(dialled, told) };
}
