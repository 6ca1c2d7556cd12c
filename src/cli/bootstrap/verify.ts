/** `drawbridge bootstrap verify`: parse, ask every question, report. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { splitHostPort } from "../../base/address.js";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { type Finding, hasFailed } from "../../base/finding.js";
import { type BridgeRecord, recordFile } from "../../cluster/bootstrap/host/record.js";
import { bridgeModel } from "../../cluster/bootstrap/model/model.js";
import type { Topology } from "../../cluster/bootstrap/model/names.js";
import type { SshTarget } from "../../cluster/bootstrap/ssh/ssh.js";
import type { BridgeDescription } from "../../insight/diagnosis/bridge.js";
import type { ApiAccess } from "../../insight/diagnosis/sources/bridge.js";
import type { RemoteHost, VerifyOptions } from "../../insight/diagnosis/verify.js";
import { toMilliseconds } from "../flags/go-duration.js";
import { quote } from "../flags/go-text.js";
import { runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import type { Environment, Invocation } from "../framework/invocation.js";
import { MISUSE } from "../framework/subcommands.js";
import { checkSshFlags, knownTarget, refuseSshFlags } from "./ssh.js";
import { declareVerifyFlags, type VerifyFlags } from "./verify-flags.js";

interface VerifyConfig {
  readonly bridge: BridgeDescription;
  readonly kubeconfig: string;
  readonly record: { readonly directory: string; readonly given: boolean };
  readonly flags: VerifyFlags;
  readonly rehearse: { readonly webhooks: readonly string[]; readonly conversions: readonly string[] };
  readonly testWebhook: { readonly image: string } | undefined;
  readonly output: "text" | "json" | "junit";
  readonly timeoutMs: number;
}

const purpose = `Says whether the bridge works: server, socket, ports, certificates, egress configuration, agents, and then a
rehearsal of every webhook and aggregated API as the kube-apiserver would call it, dry run, through the tunnel.

Run it as root on the host of the kube-apiserver and the server; with --dir on a workstation it tells what can be told from
there. Ends with 0 when nothing failed, with 1 otherwise.`;

export function bootstrapVerify(program: string, argv: readonly string[]): Promise<number> {
  return runRole({ parse: (words, env) => parse(program, words, env), run }, program, argv, { misuse: MISUSE });
}

function parse(program: string, argv: readonly string[], env: Environment): Invocation<VerifyConfig> {
  const { set, flags } = declareVerifyFlags(program, env);
  const { positional, warnings } = set.parse(argv);
  if (flags.help.value) return { help: usagePage(program, purpose, set) };
  const [word] = positional;
  if (word !== undefined) throw refused(`${quote(word)} belongs to no flag`);
  if (flags.testImage.changed && !flags.deployTestWebhook.value)
    throw refused("--test-image is for --deploy-test-webhook, which is missing");
  if (flags.dir.value !== "" && flags.deployTestWebhook.value)
    throw refused("--deploy-test-webhook reads the server's metrics; run it on the bootstrap host, without --dir");
  checkSshFlags(flags);
  if (flags.dir.value === "") refuseSshFlags(flags);
  if (flags.timeout.value <= 0n) throw refused("--timeout must be more than nothing");
  const kubeconfig = kubeconfigOf(flags);
  const directory = flags.stateDirectory.value;
  const hasNone = kubeconfig === "" && !existsSync(recordFile(directory));
  if (hasNone && (flags.deployTestWebhook.value || flags.webhook.changed || flags.conversion.changed))
    throw refused("--webhook, --conversion and --deploy-test-webhook need --kubeconfig");
  const config: VerifyConfig = {
    bridge: bridgeOf(flags),
    kubeconfig,
    record: { directory, given: flags.stateDirectory.changed },
    flags,
    rehearse: { webhooks: flags.webhook.value, conversions: flags.conversion.value },
    testWebhook: flags.deployTestWebhook.value ? { image: flags.testImage.value } : undefined,
    output: flags.output.value ?? "text",
    timeoutMs: toMilliseconds(flags.timeout.value),
  };
  return { config, logging: { verbosity: 0, format: "text" }, warnings };
}

/** Where each kind of host keeps one that leads to its own kube-apiserver. */
const hostConfigs: readonly { readonly of: Topology; readonly file: string }[] = [
  { of: "openshift", file: "/opt/openshift/auth/kubeconfig-loopback" },
  { of: "kubeadm", file: "/etc/kubernetes/admin.conf" },
];

function kubeconfigOf({ kubeconfig, dir, for: topology }: VerifyFlags): string {
  if (kubeconfig.changed && dir.changed) throw refused("--kubeconfig and --dir exclude each other");
  if (dir.value !== "") return join(dir.value, "auth", "kubeconfig");
  if (kubeconfig.value !== "") return kubeconfig.value;
  const fits = hostConfigs.filter(({ of }) => topology.value === undefined || topology.value === of);
  return fits.find(({ file }) => existsSync(file))?.file ?? "";
}

function bridgeOf(flags: VerifyFlags): BridgeDescription {
  if (flags.uds.value !== "" && flags.frontend.value !== "") throw refused("--uds and --frontend exclude each other");
  if (flags.agentPort.value < 0 || flags.agentPort.value > 65_535) throw refused("--agent-port is not a port");
  return {
    topology: flags.for.value ?? (flags.dir.value === "" ? undefined : "openshift"),
    uds: flags.uds.value,
    frontend: frontendOf(flags),
    protocol: flags.protocol.value,
    health: healthOf(flags.health.value),
    address: flags.address.value,
    agentPort: flags.agentPort.value,
    pki: flags.pki.value,
    egressConfig: flags.egressConfig.value,
    namespace: flags.namespace.value,
    resolve: flags.resolve.value,
  };
}

function frontendOf({ frontend, frontendCa, frontendCert, frontendKey }: VerifyFlags): BridgeDescription["frontend"] {
  if (frontend.value === "") {
    const stray = [frontendCa, frontendCert, frontendKey].find(({ changed }) => changed);
    if (stray !== undefined) throw refused(`--${stray.name} is for --frontend, which is missing`);
    return undefined;
  }
  const split = splitHostPort(frontend.value);
  const port = "error" in split ? 0 : Number(split.port);
  if ("error" in split || split.host === "" || !(Number.isInteger(port) && port > 0 && port < 65_536))
    throw refused(`--frontend ${quote(frontend.value)} is not host:port`);
  const tls = { caFile: frontendCa.value, certFile: frontendCert.value, keyFile: frontendKey.value };
  return { host: split.host, port, tls };
}

function healthOf(text: string): string {
  if (text === "") return "";
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    throw refused("--health must be a URL such as http://127.0.0.1:2041");
  return url.origin + url.pathname.replace(/\/+$/, "");
}

const refused = (sentence: string) => new DrawbridgeError("DB_FLAG_VALUE", sentence);

async function run(config: VerifyConfig): Promise<number> {
  const stop = stopSignal(config);
  const findings = config.flags.dir.value === "" ? await verifyHere(config, stop) : await verifyFrom(config, stop);
  const { findingsJson, findingsJunit, findingsText } = await import("../../insight/diagnosis/report.js");
  const reports = {
    text: () => `${findingsText(findings)}${verdictOn(findings)}\n`,
    json: () => findingsJson({}, findings),
    junit: () => findingsJunit("drawbridge bootstrap verify", findings),
  };
  process.stdout.write(reports[config.output]());
  return hasFailed(findings) ? 1 : 0;
}

function verdictOn(findings: readonly Finding[]): string {
  if (hasFailed(findings)) return "The bridge does not work as it should; begin with the first failure.";
  const isSkipped = findings.some(({ state }) => state === "skipped");
  return isSkipped ? "Nothing failed; see what was skipped." : "The bridge works.";
}

async function verifyHere(config: VerifyConfig, stop: AbortSignal): Promise<Finding[]> {
  const record = await recordOf(config);
  const recorded = record && bridgeModel(record.options);
  const kubeconfig = config.kubeconfig || (record?.kubeconfig ?? "");
  return verified({ ...config, kubeconfig, bridge: { ...config.bridge, recorded } }, stop);
}

/** What can be seen from a workstation that has the install directory. */
async function verifyFrom(config: VerifyConfig, stop: AbortSignal): Promise<Finding[]> {
  const [{ openInstallDirectory }, { withPrivateFolder }] = await Promise.all([
    import("../../cluster/bootstrap/install-dir.js"),
    import("../../cluster/bootstrap/ssh/ssh.js"),
  ]);
  const directory = await openInstallDirectory(config.flags.dir.value);
  return withPrivateFolder(async (folder) => {
    const over = await knownTarget(config.flags, directory, folder);
    return verified(config, stop, { host: over && (await remoteHost(over)) });
  });
}

async function remoteHost(over: SshTarget): Promise<RemoteHost> {
  const [{ hostEntries }, { collectionScript }, { bootstrapCalls }] = await Promise.all([
    import("../../cluster/bootstrap/gather/host-part.js"),
    import("../../cluster/bootstrap/gather/script.js"),
    import("../../cluster/bootstrap/gather/plan.js"),
  ]);
  const script = collectionScript(bootstrapCalls());
  return { name: over.host, files: (timeoutMs) => hostEntries({ script, over, timeoutMs }) };
}

async function verified(config: VerifyConfig, stop: AbortSignal, remote?: VerifyOptions["remote"]): Promise<Finding[]> {
  const { verifyBridge } = await import("../../insight/diagnosis/verify.js");
  const access = await openApi(config.kubeconfig);
  try {
    return await verifyBridge({ ...config, access, remote }, stop);
  } finally {
    access.api?.close();
  }
}

/** Unless another bridge is meant. */
async function recordOf({ bridge, record }: VerifyConfig): Promise<BridgeRecord | undefined> {
  const { recordedHere } = await import("../../cluster/bootstrap/host/record.js");
  const found = await recordedHere(record.directory, record.given);
  return bridge.topology === undefined || found?.options.for === bridge.topology ? found : undefined;
}

/** Fires at the deadline, or when somebody has had enough. */
function stopSignal({ timeoutMs, testWebhook }: VerifyConfig): AbortSignal {
  const controller = new AbortController();
  const stop = (sentence: string): void => controller.abort(new Error(sentence));
  setTimeout(() => stop(`--timeout (${timeoutMs / 1000} s) is over`), timeoutMs).unref();
  const onSignal = (signal: NodeJS.Signals): void => {
    // A second one ends the process at once, as usual.
    for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.off(name, onSignal);
    if (testWebhook !== undefined) process.stderr.write("Removing what was made; once more to leave it behind.\n");
    stop(`interrupted (${signal})`);
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, onSignal);
  return controller.signal;
}

/** A kubeconfig that cannot be used is a result, not the end: much can be said without the API. */
async function openApi(kubeconfig: string): Promise<ApiAccess> {
  if (kubeconfig === "") return { api: undefined, problem: undefined };
  try {
    const { openKubeApi } = await import("../../cluster/kube/open.js");
    return { api: await openKubeApi({ kubeconfig, qps: 50, burst: 100 }), kubeconfig };
  } catch (reason) {
    return { api: undefined, problem: messageOf(reason) };
  }
}
