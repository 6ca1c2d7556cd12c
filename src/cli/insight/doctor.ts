/** `drawbridge doctor`: find what keeps drawbridge from working on this host. */
import { hasFailed } from "../../base/finding.js";
import { DEFAULT_STATE_DIRECTORY } from "../../cluster/bootstrap/host/record.js";
import { topologies } from "../../cluster/bootstrap/model/names.js";
import { diagnose, diagnosisText } from "../../insight/diagnosis/doctor.js";
import type { DoctorSettings } from "../../insight/diagnosis/place.js";
import { roles } from "../../insight/diagnosis/programs.js";
import { findingsJson } from "../../insight/diagnosis/report.js";
import { filePath, inGroup, list, number, oneOf, text, type Values } from "../flags/flag.js";
import { clusterFlags } from "../flags/kubernetes.js";
import { defineCommand, type Environment } from "../framework/define.js";
import { adminPortFlags, checkAdminUrl } from "../tunnel/admin-port.js";
import { programSettings } from "./doctor-settings.js";

/** Where to look; support takes the same. */
export const placeFlags = {
  role: oneOf(roles, "Kind of place this is. If empty, found out."),
  pid: number(0, "Process to look at, where several of a kind run. If 0, the one that is found.", { least: 0 }),
  "for-platform": { ...oneOf(topologies, "Kind of control plane. If empty, found out."), alias: "for" },
  dir: filePath("Install directory of openshift-install."),
  address: text(
    "Address at which agents dial the server, or machines the Ignition server. If empty, as the agent here, the address's record, the certificates or the clusters say.",
  ),
  ...clusterFlags("the cluster", "from --dir, the program here, else the host's usual one"),
  ...inGroup("kubernetes", {
    namespace: text("Namespace of pools, tokens and leases. If empty, as the program here has it."),
  }),
  ...inGroup("advanced", {
    "agent-port": number(0, "Port that agents dial. If 0, as the program here has it."),
    "health-port": number(0, "Health port of the program here. If 0, as it was started."),
    "admin-port": number(0, "Admin port of the server. If 0, as it was started."),
    pki: filePath("Directory of the certificates. If empty, the bridge's own."),
    socket: filePath("Unix socket of the server. If empty, as it was started, or the bridge's own."),
    "egress-config": filePath("The kube-apiserver's EgressSelectorConfiguration. If empty, the bridge's own."),
    "state-dir": filePath("Directory of bootstrap up's record, which says what no flag says.", DEFAULT_STATE_DIRECTORY),
    "machine-network": list("Prefix of the hosts; repeatable. If empty, from --dir, the cluster or this host."),
    "pod-network": list("Prefix of the pods; repeatable. If empty, from --dir, the cluster or this host."),
    "service-network": list("Prefix of the services; repeatable. If empty, from --dir, the cluster or this host."),
  }),
};

export type PlaceFlags = Values<typeof placeFlags>;

const doctorFlags = (env: Environment) => ({
  ...placeFlags,
  ...adminPortFlags(env),
  admin: text("Admin port of the process, http://127.0.0.1:8095 say. If empty, as it was started."),
  "token-file": filePath(
    "File with the admin token of the process. If empty, DRAWBRIDGE_ADMIN_TOKEN_FILE, then its own --admin-token-file.",
    env.DRAWBRIDGE_ADMIN_TOKEN_FILE ?? "",
  ),
});

export default defineCommand({
  purpose: `Looks for whatever keeps a bridge, or any other part of drawbridge, from working here, and says what to do about it.

It runs on a server's host, beside an agent, a sidecar, an Ignition server, a pool controller or a CSR approver, on an
OpenShift bootstrap host or on a workstation, and runs the checks that apply there. It finds a running process' ports,
certificates and admin token in its flags. drawbridge workers doctor explains why single machines do not become nodes.
Doctor changes nothing. It ends with 1 when a check failed; warnings alone end with 0.`,
  examples: ["drawbridge doctor", "drawbridge doctor --role agent --output json"],
  flags: doctorFlags,
  async run(flags, { given }) {
    const { admin, tokenFile, caFile } = flags;
    if (admin !== "") checkAdminUrl(admin);
    return diagnose(doctorSettings(flags, given, { admin, tokenFile, caFile }));
  },
  show: { text: diagnosisText, json: ({ role, findings }) => findingsJson({ role }, findings) },
  exitCode: ({ findings }) => (hasFailed(findings) ? 1 : 0),
});

const NO_ADMIN = { admin: "", tokenFile: "", caFile: "" };

export const doctorSettings = (flags: PlaceFlags, given: ReadonlySet<string>, admin = NO_ADMIN): DoctorSettings => ({
  ...{ ...flags, ...admin, for: flags.forPlatform, isStateDirGiven: given.has("state-dir") },
  programSettings,
});
