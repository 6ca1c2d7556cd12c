/** `drawbridge doctor`: parse, look around, print. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { BridgeRecord } from "../bootstrap/host/record.js";
import { bridgeModel } from "../bootstrap/model/model.js";
import { ports } from "../bootstrap/model/names.js";
import type { DoctorContext, DoctorHost } from "../doctor/context.js";
import type { Diagnosis, Role } from "../doctor/diagnosis.js";
import { DrawbridgeError } from "../errors/error.js";
import { runRole } from "./command.js";
import { type DoctorFlags, declareDoctorFlags } from "./doctor-flags.js";
import { reportDiagnoses } from "./doctor-report.js";
import { quote } from "./flags/go-text.js";
import { usagePage } from "./help.js";
import type { Invocation } from "./invocation.js";
import { misuse } from "./subcommands.js";

const purpose = `Looks for whatever keeps a bridge from working here, and says what to do about it.

Runs on a server's host, beside an agent, on an OpenShift bootstrap host or on a workstation, and asks what makes sense
there. Changes nothing. Ends with 1 when something is wrong; warnings alone end with 0.`;

export function doctorCommand(program: string, argv: readonly string[]): Promise<number> {
  return runRole({ parse: (words) => parse(program, words), run }, program, argv, { misuse });
}

function parse(program: string, argv: readonly string[]): Invocation<DoctorFlags> {
  const { set, flags } = declareDoctorFlags(program);
  const { positional, warnings } = set.parse(argv);
  if (flags.help.value) return { help: usagePage(program, purpose, set) };
  const [word] = positional;
  if (word !== undefined) throw new DrawbridgeError("DB_FLAG_VALUE", `${quote(word)} belongs to no flag`);
  return { config: flags, logging: { verbosity: 0, format: "text" }, warnings };
}

async function run(flags: DoctorFlags): Promise<number> {
  const { diagnose } = await import("../doctor/doctor.js");
  const context = await contextOf(flags);
  let found: Diagnosis[];
  try {
    found = await diagnose(context);
  } finally {
    if (typeof context.cluster === "object") context.cluster.close();
  }
  const sick = found.some(({ state }) => state === "wrong");
  const { role } = context;
  process.stdout.write(
    flags.output.value === "json"
      ? `${JSON.stringify({ role, ok: !sick, checks: found }, null, 2)}\n`
      : reportDiagnoses(role, found),
  );
  return sick ? 1 : 0;
}

async function contextOf(flags: DoctorFlags): Promise<DoctorContext> {
  const [{ thisHost }, { detectRole, detectTopology }, { findNetworks }] = await Promise.all([
    import("../doctor/host/this-host.js"),
    import("../doctor/role.js"),
    import("../doctor/find-networks.js"),
  ]);
  const host = thisHost();
  const role = flags.role.value ?? (await detectRole(host, process.env));
  const record = await recordOf(flags, role);
  const topology = flags.for.value ?? (flags.dir.value === "" ? detectTopology() : "openshift");
  const model = bridgeModel(record?.options ?? { for: topology });
  const pki = flags.pki.value || (role === "agent" ? "/etc/konnectivity" : model.paths.pki.host);
  const egressConfig = flags.egressConfig.value || model.paths.egressConfig.host;
  const cluster = await clusterOf(flags, role, record?.kubeconfig);
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
  return {
    ...{ role, model, host, pki, cluster, networks },
    env: process.env,
    now: () => new Date(),
    ...(await target(flags, role, host, [pki, dirname(egressConfig)])),
    socket: flags.socket.value || model.paths.socket.host,
    egressConfig,
    ports: { health: flags.healthPort.value || ports.health, admin: flags.adminPort.value || ports.admin },
  };
}

/** What `up` wrote down, where it may have run and no other kind of bridge is meant. */
async function recordOf({ stateDirectory, for: topology }: DoctorFlags, role: Role): Promise<BridgeRecord | undefined> {
  if (role !== "server" && !stateDirectory.changed) return undefined;
  const { recordedHere } = await import("../bootstrap/host/recorded.js");
  const found = await recordedHere(stateDirectory.value, stateDirectory.changed);
  return topology.value === undefined || topology.value === found?.options.for ? found : undefined;
}

/** Where agents dial: said, or what the agent here was told, or what the bridge was made for. */
async function target(flags: DoctorFlags, role: Role, host: DoctorHost, places: readonly string[]) {
  const agent = role === "agent" ? await host.running("agent") : undefined;
  const { findAddressRecord } = await import("../bootstrap/address/index.js");
  const recorded = role === "agent" ? undefined : await findAddressRecord(places);
  return {
    address: flags.address.value || agent?.flags.get("proxy-server-host") || recorded?.target,
    agentPort: flags.agentPort.value || Number(agent?.flags.get("proxy-server-port") ?? ports.agent),
  };
}

/** Where a kubeconfig lies by itself. */
const usual: Readonly<Record<Role, string>> = {
  server: "/etc/kubernetes/admin.conf",
  agent: "",
  bootstrap: "/opt/openshift/auth/kubeconfig-loopback",
  workstation: process.env.KUBECONFIG?.split(":")[0] ?? "",
};

async function clusterOf(
  flags: DoctorFlags,
  role: Role,
  recorded: string | undefined,
): Promise<DoctorContext["cluster"]> {
  const { openInstallDirectory } = await import("../bootstrap/install-dir/index.js");
  const directory = flags.dir.value === "" ? undefined : await openInstallDirectory(flags.dir.value);
  const found = existsSync(usual[role]) ? usual[role] : undefined;
  const installed = await directory?.kubeconfig().catch(() => undefined);
  const kubeconfig = flags.kubeconfig.value || installed || recorded || found;
  if (kubeconfig === undefined) return undefined;
  const { openCluster } = await import("../doctor/open-cluster.js");
  return openCluster(kubeconfig);
}
