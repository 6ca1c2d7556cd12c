/** `drawbridge bootstrap verify`: whether the bridge works. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { splitHostPort } from "../../base/address.js";
import { messageOf } from "../../base/errors/error.js";
import { type Finding, hasFailed } from "../../base/finding.js";
import { bootstrapCalls } from "../../cluster/bootstrap/gather/plan.js";
import { DEFAULT_STATE_DIRECTORY, recordedHere, recordFile } from "../../cluster/bootstrap/host/record.js";
import { chosenCluster } from "../../cluster/bootstrap/host/step.js";
import { openInstallDirectory } from "../../cluster/bootstrap/install-dir.js";
import { bridgeModel } from "../../cluster/bootstrap/model/model.js";
import { type Topology, topologies } from "../../cluster/bootstrap/model/names.js";
import { withPrivateFolder } from "../../cluster/bootstrap/ssh/ssh.js";
import { findingsJson, findingsJunit, findingsText } from "../../insight/diagnosis/report.js";
import type { BridgeApi, BridgeDescription } from "../../insight/diagnosis/sources/bridge.js";
import { type BridgeVerification, verifyBridge } from "../../insight/diagnosis/verify.js";
import { duration, filePath, inGroup, list, oneOf, port, text, type Values, yesNo } from "../flags/flag.js";
import { quote } from "../flags/go-values.js";
import { type ClusterValues, clusterFlags, kubeconfigOf, openCluster } from "../flags/kubernetes.js";
import { refused } from "../flags/parse.js";
import { defineCommand, type Input } from "../framework/define.js";
import { note } from "../framework/output.js";
import { bootstrapTarget, checkSshFlags, sshFlags } from "./ssh-flags.js";

const verifyFlags = {
  "for-platform": {
    ...oneOf(topologies, "Kind of control plane that the bridge is for. If empty, the one this host has."),
    alias: "for",
  },
  dir: filePath(
    "Install directory of openshift-install on a workstation: asks the cluster of its auth/kubeconfig and the bootstrap host over SSH, not this host.",
  ),
  webhook: list(
    "Rehearse only these webhooks, by their own or their configuration's name; repeatable. If empty, all of them.",
  ),
  conversion: list(
    "Rehearse only the conversion webhooks of these CustomResourceDefinitions; repeatable. Without this and --webhook all webhooks and aggregated APIs are rehearsed.",
  ),
  "deploy-test-webhook": yesNo(
    "Also put a webhook into the cluster, let the kube-apiserver call it, and remove it again.",
  ),
  "test-image": text("drawbridge's image, for --deploy-test-webhook. If empty, the agents' image."),
  timeout: duration("3m", "How long everything together may take; removals are finished all the same."),
  ...clusterFlags(
    "the kube-apiserver that uses the bridge",
    "that of --dir, then the files of KUBECONFIG, then what this kind of host has",
  ),
  ...inGroup("kubernetes", { namespace: text("Namespace of the agents. If empty, as this kind of host has it.") }),
  ...inGroup("tls", {
    "frontend-ca": filePath("File with the authority of the certificate of --frontend."),
    "frontend-cert": filePath("File with a client certificate for --frontend."),
    "frontend-key": filePath("File with the key of --frontend-cert."),
  }),
  ...inGroup("advanced", {
    "state-dir": filePath(
      "Directory of bootstrap up's record, for settings that no flag gives.",
      DEFAULT_STATE_DIRECTORY,
    ),
    uds: text("Unix socket of the server. If empty, as in the egress configuration."),
    frontend: text("Address of a server that listens on TCP instead of a socket, as host:port."),
    protocol: oneOf(
      ["grpc", "http-connect"],
      "Protocol of the server's frontend. If empty, as in the egress configuration.",
    ),
    health: text("URL of the server's health port. If empty, that of the server on this host."),
    address: text("Address at which agents dial the server. If empty, as recorded by up or beside its certificates."),
    "agent-port": port(0, "Port that agents dial. If 0, that of the server on this host."),
    pki: filePath("Directory of the server's certificates. If empty, where this kind of host has it."),
    "egress-config": filePath("The kube-apiserver's egress configuration. If empty, where this kind of host has it."),
    resolve: oneOf(
      ["endpoints", "cluster-ip"],
      "How services are dialled. If empty, as the kube-apiserver's --enable-aggregator-routing says.",
    ),
  }),
  ...sshFlags("Address of the bootstrap host, with --dir. If empty, as --dir says."),
};

type VerifyFlags = Values<typeof verifyFlags>;

export default defineCommand({
  purpose: `Says whether the bridge works: server, socket, ports, certificates, egress configuration, agents, and then a
rehearsal of every webhook and aggregated API as the kube-apiserver would call it, dry run, through the tunnel.

Run it as root on the host of the kube-apiserver and the server; with --dir on a workstation it checks what can be
checked from there. Ends with 0 when nothing failed, with 1 otherwise.`,
  examples: ["drawbridge bootstrap verify", "drawbridge bootstrap verify --deploy-test-webhook --output junit"],
  flags: verifyFlags,
  config: checked,
  async run(config) {
    const stop = stopSignal(config.flags);
    return config.flags.dir === "" ? verifyHere(config, stop) : verifyFrom(config, stop);
  },
  show: {
    text: (findings) => `${findingsText(findings)}${verdictOn(findings)}\n`,
    json: (findings) => findingsJson({}, findings),
    junit: (findings) => findingsJunit("drawbridge bootstrap verify", findings),
  },
  exitCode: (findings) => (hasFailed(findings) ? 1 : 0),
});

type VerifyConfig = ReturnType<typeof checked>;

function checked(flags: VerifyFlags, { env, given }: Input) {
  if (given.has("test-image") && !flags.deployTestWebhook)
    throw refused("--test-image is for --deploy-test-webhook, which is missing");
  if (flags.dir !== "" && flags.deployTestWebhook)
    throw refused("--deploy-test-webhook reads the server's metrics; run it on the bootstrap host, without --dir");
  if (given.has("kubeconfig") && given.has("dir")) throw refused("--kubeconfig and --dir exclude each other");
  checkSshFlags(given, flags.dir);
  if (flags.timeout <= 0) throw refused("--timeout must be more than nothing");
  const kubeconfig =
    flags.dir === ""
      ? kubeconfigOf(flags.kubeconfig, env) || hostKubeconfig(flags.forPlatform)
      : join(flags.dir, "auth", "kubeconfig");
  const hasNone = kubeconfig === "" && !existsSync(recordFile(flags.stateDir));
  if (hasNone && (flags.deployTestWebhook || given.has("webhook") || given.has("conversion")))
    throw refused("--webhook, --conversion and --deploy-test-webhook need --kubeconfig");
  return {
    ...{ flags, bridge: bridgeOf(flags, given), cluster: { kubeconfig, context: flags.context } },
    isStateDirGiven: given.has("state-dir"),
    rehearse: { webhooks: flags.webhook, conversions: flags.conversion },
    testWebhook: flags.deployTestWebhook ? { image: flags.testImage } : undefined,
  };
}

function verdictOn(findings: readonly Finding[]): string {
  if (hasFailed(findings)) return "The bridge does not work as it should; begin with the first failure.";
  const isSkipped = findings.some(({ state }) => state === "skipped");
  return isSkipped ? "Nothing failed; see what was skipped." : "The bridge works.";
}

/** Where each kind of host keeps one that leads to its own kube-apiserver. */
const HOST_CONFIGS: Partial<Record<Topology, string>> = {
  openshift: "/opt/openshift/auth/kubeconfig-loopback",
  kubeadm: "/etc/kubernetes/admin.conf",
};

function hostKubeconfig(topology: Topology | undefined): string {
  const files = topology === undefined ? Object.values(HOST_CONFIGS) : [HOST_CONFIGS[topology] ?? ""];
  return files.find((file) => existsSync(file)) ?? "";
}

function bridgeOf(flags: VerifyFlags, given: ReadonlySet<string>): BridgeDescription {
  const { address, agentPort, dir, egressConfig, namespace, pki, protocol, resolve, uds } = flags;
  if (uds !== "" && flags.frontend !== "") throw refused("--uds and --frontend exclude each other");
  return {
    ...{ uds, protocol, address, agentPort, pki, egressConfig, namespace, resolve },
    topology: flags.forPlatform ?? (dir === "" ? undefined : "openshift"),
    frontend: frontendOf(flags, given),
    health: healthOf(flags.health),
  };
}

function frontendOf(
  { frontend, frontendCa, frontendCert, frontendKey }: VerifyFlags,
  given: ReadonlySet<string>,
): BridgeDescription["frontend"] {
  if (frontend === "") {
    const stray = ["frontend-ca", "frontend-cert", "frontend-key"].find((name) => given.has(name));
    if (stray !== undefined) throw refused(`--${stray} is for --frontend, which is missing`);
    return undefined;
  }
  const split = splitHostPort(frontend);
  const port = "error" in split ? 0 : Number(split.port);
  if ("error" in split || split.host === "" || !(Number.isInteger(port) && port > 0 && port < 65_536))
    throw refused(`--frontend ${quote(frontend)} is not host:port`);
  const tls = { caFile: frontendCa, certFile: frontendCert, keyFile: frontendKey };
  return { host: split.host, port, tls };
}

function healthOf(text: string): string {
  if (text === "") return "";
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    throw refused("--health must be a URL such as http://127.0.0.1:2041");
  return url.origin + url.pathname.replace(/\/+$/, "");
}

async function verifyHere(config: VerifyConfig, stop: AbortSignal): Promise<Finding[]> {
  const { bridge, cluster, flags } = config;
  const found = await recordedHere(flags.stateDir, config.isStateDirGiven);
  // Unless another bridge is meant.
  const record = bridge.topology === undefined || found?.options.for === bridge.topology ? found : undefined;
  const recorded = record && bridgeModel(record.options);
  return verified({ ...config, cluster: chosenCluster(cluster, record), bridge: { ...bridge, recorded } }, stop);
}

/** The findings from a workstation that has the install directory. */
async function verifyFrom(config: VerifyConfig, stop: AbortSignal): Promise<Finding[]> {
  const { hostEntries } = await import("../../cluster/bootstrap/gather/host.js");
  const directory = await openInstallDirectory(config.flags.dir);
  return withPrivateFolder(async (folder) => {
    const over = await bootstrapTarget(config.flags, directory, folder, true);
    const files = (timeoutMs: number) => hostEntries(bootstrapCalls(), over, timeoutMs);
    return verified(config, stop, { host: over && { name: over.host, files } });
  });
}

async function verified(
  config: VerifyConfig,
  stop: AbortSignal,
  remote?: BridgeVerification["remote"],
): Promise<Finding[]> {
  const access = await openApi(config.cluster);
  try {
    return await verifyBridge({ ...config, access, remote }, stop);
  } finally {
    access.api?.close();
  }
}

/** Fires at the deadline, or when the user interrupts the command. */
function stopSignal({ timeout, deployTestWebhook }: VerifyFlags): AbortSignal {
  const controller = new AbortController();
  const stop = (sentence: string): void => controller.abort(new Error(sentence));
  setTimeout(() => stop(`--timeout (${timeout / 1000} s) is over`), timeout).unref();
  const onSignal = (signal: NodeJS.Signals): void => {
    // A second one ends the process at once, as usual.
    for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.off(name, onSignal);
    if (deployTestWebhook) note("Removing what was made; once more to leave it behind.\n");
    stop(`interrupted (${signal})`);
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, onSignal);
  return controller.signal;
}

/** A kubeconfig that cannot be used is reported as a finding: much can be checked without the API. */
async function openApi(cluster: ClusterValues): Promise<BridgeApi> {
  if (cluster.kubeconfig === "")
    return { api: undefined, problem: cluster.context === "" ? undefined : "--context is given without a kubeconfig" };
  try {
    return { api: await openCluster(cluster, { qps: 50, burst: 100 }), kubeconfig: cluster.kubeconfig };
  } catch (reason) {
    return { api: undefined, problem: messageOf(reason) };
  }
}
