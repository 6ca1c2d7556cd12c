/** `drawbridge bootstrap gather`: parse, collect, say what is in the archive. */
import { join } from "node:path";
import { DrawbridgeError } from "../../base/errors/error.js";
import type { Gathered, GatherOptions } from "../../cluster/bootstrap/gather/gather.js";
import type { HostPlan } from "../../cluster/bootstrap/gather/plan.js";
import type { InstallDirectory } from "../../cluster/bootstrap/install-dir.js";
import { bridgeModel } from "../../cluster/bootstrap/model/model.js";
import type { SshTarget } from "../../cluster/bootstrap/ssh/ssh.js";
import { quote } from "../flags/go-text.js";
import { runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import type { Invocation } from "../framework/invocation.js";
import { MISUSE } from "../framework/subcommands.js";
import { version } from "../framework/version.js";
import { declareGatherFlags, type GatherFlags } from "./gather-flags.js";
import { bootstrapTarget, checkSshFlags } from "./ssh.js";

const purpose = `Collects logs, metrics, certificates, manifests and service records of a bridge into one archive.

Runs on the bootstrap host, or reaches it over SSH (--dir, --bootstrap); agents are asked through the kubeconfig. Private
keys, tokens, kubeconfigs and Secrets never get into the archive. Read it with drawbridge bootstrap analyze.`;

export function bootstrapGather(program: string, argv: readonly string[]): Promise<number> {
  return runRole({ parse: (words) => parse(program, words), run }, program, argv, { misuse: MISUSE });
}

function parse(program: string, argv: readonly string[]): Invocation<GatherFlags> {
  const { set, flags } = declareGatherFlags(program);
  const { positional, warnings } = set.parse(argv);
  if (flags.help.value) return { help: usagePage(program, purpose, set) };
  const [word] = positional;
  if (word !== undefined) throw refused(`${quote(word)} belongs to no flag`);
  if (flags.timeout.value < 1_000_000_000n) throw refused("--timeout must be at least 1s");
  checkSshFlags(flags);
  hostPlan(flags);
  return { config: flags, logging: { verbosity: 0, format: "text" }, warnings };
}

const refused = (sentence: string) => new DrawbridgeError("DB_FLAG_VALUE", sentence);

const logNames = ["konnectivity-server", "konnectivity-agent", "kube-apiserver"];

function hostPlan({ log, pki, healthPort, adminPort }: GatherFlags): HostPlan {
  const logs = log.value.map((text) => {
    const [, name = "", file = ""] = /^([^=]+)=(\/.+)$/.exec(text) ?? [];
    if (logNames.some((known) => name === known || name.startsWith(`${known}-`))) return { name, file };
    throw refused(`--log ${quote(text)} is not NAME=/FILE with a name such as ${logNames.join(", ")}`);
  });
  const directory = pki.value.find((path) => !path.startsWith("/"));
  if (directory !== undefined) throw refused(`--pki ${quote(directory)} is not an absolute path`);
  return {
    logs,
    pki: pki.value,
    healthPort: healthPort.value || undefined,
    adminPort: adminPort.value || undefined,
  };
}

async function run(flags: GatherFlags): Promise<number> {
  const [{ gather }, { withPrivateFolder }] = await Promise.all([
    import("../../cluster/bootstrap/gather/gather.js"),
    import("../../cluster/bootstrap/ssh/ssh.js"),
  ]);
  const { openInstallDirectory } = await import("../../cluster/bootstrap/install-dir.js");
  const directory = flags.dir.value === "" ? undefined : await openInstallDirectory(flags.dir.value);
  const gathered = await withPrivateFolder(async (folder) => gather(await optionsOf(flags, directory, folder)));
  process.stdout.write(report(flags, gathered));
  for (const failure of gathered.manifest.failures) process.stderr.write(`Warning: ${failure}\n`);
  return gathered.complete ? 0 : 1;
}

async function optionsOf(
  flags: GatherFlags,
  directory: InstallDirectory | undefined,
  folder: string,
): Promise<GatherOptions> {
  const now = new Date();
  const bootstrap = await bootstrapTarget(flags, directory, folder);
  const plan = { ...hostPlan(flags), recorded: bootstrap === undefined ? await recordOf(flags) : undefined };
  const kubeconfig = flags.kubeconfig.value || (await directory?.kubeconfig().catch(() => undefined));
  const name = `drawbridge-gather-${now.toISOString().replace(/[-:]|\..*$/g, "")}.tar.gz`;
  const here = bootstrap === undefined && (kubeconfig === undefined || (await hasBridge(plan)));
  if (here && !(await hasBridge(plan))) {
    throw new DrawbridgeError("DB_GATHER", "There is nothing of a bridge on this host.");
  }
  return {
    out: flags.out.value || join(flags.dir.value, name),
    version: version(),
    now,
    host: bootstrap !== undefined || here ? { over: bootstrap, plan } : undefined,
    ...(await nodeTargets(flags, directory, bootstrap)),
    cluster: kubeconfig === undefined ? undefined : { kubeconfig, namespaces: flags.namespace.value },
    timeoutMs: Number(flags.timeout.value / 1_000_000n),
  };
}

/** Machines of the control plane have private addresses: the bootstrap host is the way to them. */
async function nodeTargets(
  flags: GatherFlags,
  directory: InstallDirectory | undefined,
  bootstrap: SshTarget | undefined,
): Promise<Pick<GatherOptions, "nodes" | "optional">> {
  const { checkedHost } = await import("../../cluster/bootstrap/ssh/ssh.js");
  const named = flags.node.value.length > 0;
  const hosts = named ? flags.node.value : ((await directory?.controlPlaneHosts()) ?? []);
  if (hosts.length > 0 && bootstrap === undefined) {
    throw refused("--node needs --bootstrap or --dir: nodes are reached through the bootstrap host");
  }
  const optional = { nodes: !named, cluster: flags.kubeconfig.value === "" };
  return { nodes: hosts.map((host) => ({ ...bootstrap!, host: checkedHost(host), through: bootstrap })), optional };
}

async function recordOf({ stateDirectory }: GatherFlags): Promise<HostPlan["recorded"]> {
  const { recordedHere } = await import("../../cluster/bootstrap/host/record.js");
  const record = await recordedHere(stateDirectory.value, stateDirectory.changed);
  return record && { directory: stateDirectory.value, model: bridgeModel(record.options) };
}

async function hasBridge({ logs, pki, recorded }: HostPlan): Promise<boolean> {
  const { bridgeOnThisHost } = await import("../../cluster/bootstrap/gather/presence.js");
  return recorded !== undefined || logs.length > 0 || pki.length > 0 || bridgeOnThisHost();
}

function report({ output }: GatherFlags, { out, manifest, complete }: Gathered): string {
  const { sources, files, leftOut, failures } = manifest;
  if (output.value === "json") {
    return `${JSON.stringify({ out, complete, sources, files: files.length, leftOut, failures }, null, 2)}\n`;
  }
  const omitted = leftOut.map(({ path, why }) => `Left out ${path}: ${why}.\n`).join("");
  return [
    `${out}: ${files.length} files from ${sources.join(", ")}.\n`,
    omitted,
    `Look into it with: drawbridge bootstrap analyze ${out}\n`,
  ].join("");
}
