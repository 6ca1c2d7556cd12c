/** `drawbridge doctor`: the checks that apply to each role. */
import type { KubeApi } from "../../cluster/kube/port.js";
import type { Check } from "./check.js";
import { adminChecks } from "./checks/admin.js";
import { cleanedUp } from "./checks/bootstrap-host.js";
import { leftovers } from "./checks/bridge.js";
import * as certificates from "./checks/certificates.js";
import * as cluster from "./checks/cluster.js";
import { egressAgreement } from "./checks/egress.js";
import * as host from "./checks/host.js";
import * as networks from "./checks/networks.js";
import { nameResolution, running, settings } from "./checks/programs.js";
import type { DoctorHost } from "./host/this-host.js";
import { type DoctorSettings, findPlace } from "./place.js";
import { bridgeRoles, type DoctorRole, PROGRAMS, programOf, programs, roles } from "./programs.js";
import { findingsText } from "./report.js";
import { runChecks } from "./run.js";
import { hostSource } from "./sources/host.js";

const servers: readonly DoctorRole[] = ["server", "bootstrap"];
const withProgram = roles.filter((role) => role !== "workstation");

/** Causes before their consequences. */
export const selection: readonly (readonly [Check, readonly DoctorRole[]])[] = [
  [host.nodeVersion, roles],
  [host.fips, roles],
  [host.openFiles, withProgram],
  [networks.overlap, bridgeRoles],
  [networks.routeToPods, servers],
  [networks.addressChoice, servers],
  [host.portsFree, servers],
  [host.socketFile, servers],
  [certificates.certificates, [...servers, "agent"]],
  [egressAgreement, servers],
  [running, withProgram],
  [settings, [...servers, "agent", "sidecar"]],
  [certificates.serverReachable, [...servers, "agent"]],
  [certificates.frontend, ["sidecar"]],
  [nameResolution, ["sidecar"]],
  [certificates.ignitionCertificate, ["ignition"]],
  [cluster.ignitionTokens, ["ignition"]],
  [cluster.lease, ["nodepool", "approver"]],
  [cluster.pools, ["nodepool"]],
  ...adminChecks,
  [cluster.apiAccess, [...servers, "workstation"]],
  [cleanedUp, ["bootstrap"]],
  [leftovers, [...servers, "workstation"]],
  [cluster.permissions, [...servers, "workstation"]],
  [host.clock, roles],
];

type Diagnosis = Awaited<ReturnType<typeof diagnose>>;

export async function diagnose(settings: DoctorSettings) {
  const place = await findPlace(settings);
  const { role } = place;
  const opened: KubeApi[] = [];
  const checks = selection.flatMap(([check, among]) => (among.includes(role) ? [check] : []));
  try {
    const here = await processesHere(place.host);
    return { role, here, findings: await runChecks(checks, hostSource(place, opened)) };
  } finally {
    for (const api of opened) api.close();
  }
}

/** Every kind of program that runs here, with the process that doctor looks at for it. */
async function processesHere(host: Pick<DoctorHost, "running">) {
  const found = await Promise.all(
    programs.map(async (kind) => ({ kind, title: PROGRAMS[kind].title, pid: (await host.running(kind))?.pid })),
  );
  return found.filter(({ pid }) => pid !== undefined);
}

export function diagnosisText({ role, here, findings }: Diagnosis): string {
  const own = here.find(({ kind }) => kind === programOf(role));
  const others = here.filter((each) => each !== own).map(({ kind, title, pid }) => `${title} ${pid} (--role ${kind})`);
  const lines = [
    `Checks for ${places[role]} (--role ${role})${own === undefined ? "" : `: ${own.title} ${own.pid}`}.`,
    ...(others.length === 0 ? [] : [`Not looked at, but running here, too: ${others.join(", ")}.`]),
    ...(here.length > 0
      ? []
      : ["No process of drawbridge runs here; where one should, --role says which is looked for."]),
  ];
  return `${lines.join("\n")}\n\n${findingsText(findings)}`;
}

const places: Readonly<Record<DoctorRole, string>> = {
  server: "a server's host",
  agent: "an agent's host",
  bootstrap: "an OpenShift bootstrap host",
  workstation: "a workstation",
  sidecar: "a sidecar's host",
  ignition: "an Ignition server's host",
  nodepool: "a pool controller's host",
  approver: "a CSR approver's host",
};
