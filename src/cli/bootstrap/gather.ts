/** `drawbridge bootstrap gather`: collect everything that explains a bridge into one archive. */
import { join } from "node:path";
import { DrawbridgeError } from "../../base/errors/error.js";
import { archiveName, type GatherOptions, gather } from "../../cluster/bootstrap/gather/gather.js";
import { type HostPlan, isBridgeHost } from "../../cluster/bootstrap/gather/plan.js";
import { recordedHere } from "../../cluster/bootstrap/host/record.js";
import { type InstallDirectory, openInstallDirectory } from "../../cluster/bootstrap/install-dir.js";
import { bridgeModel } from "../../cluster/bootstrap/model/model.js";
import { checkedHost, withPrivateFolder } from "../../cluster/bootstrap/ssh/ssh.js";
import { filePath, inGroup, lifetime, list, number, repeated, type Values } from "../flags/flag.js";
import { quote } from "../flags/go-values.js";
import { clusterFlags, kubeconfigOf } from "../flags/kubernetes.js";
import { refused } from "../flags/parse.js";
import { defineCommand, VERSION } from "../framework/define.js";
import { note } from "../framework/output.js";
import { stateDirFlag } from "./bridge-flags.js";
import { bootstrapTarget, checkSshFlags, sshFlags } from "./ssh-flags.js";

const gatherFlags = {
  dir: filePath(
    "Install directory of openshift-install: bootstrap host, control plane, key and kubeconfig are found in it.",
  ),
  out: filePath("Archive to write. If empty, drawbridge-gather-<time>.tar.gz in --dir or here."),
  timeout: lifetime("5m", "How long each host and the cluster may take."),
  ...sshFlags("Host to gather from over SSH. If empty, as --dir says, else this host."),
  ...clusterFlags("the agents' cluster", "that of --dir, then the files of KUBECONFIG, else agents are not asked"),
  ...inGroup("kubernetes", { namespace: list("Further namespace in which agents run; repeatable.") }),
  ...inGroup("advanced", {
    ...stateDirFlag,
    node: list("Host where an agent runs, to gather from over SSH; repeatable."),
    log: repeated(
      "NAME=FILE on the bootstrap host: the log of konnectivity-server, konnectivity-agent or kube-apiserver where it is a plain file; repeatable.",
    ),
    pki: list("Further directory on the bootstrap host with certificates; keys in it are not touched; repeatable."),
    "health-port": number(0, "Health port of the server. If 0, the bridge's own."),
    "admin-port": number(0, "Admin port of the server, for its metrics. If 0, the bridge's own."),
  }),
};

type GatherFlags = Values<typeof gatherFlags>;

export default defineCommand({
  purpose: `Collects logs, metrics, certificates, manifests and service records of a bridge into one archive.

Runs on the bootstrap host, or reaches it over SSH (--dir, --bootstrap); agents are asked through the kubeconfig. Private
keys, tokens, kubeconfigs and Secrets never get into the archive. Read it with drawbridge bootstrap analyze.`,
  examples: ["drawbridge bootstrap gather --dir install"],
  flags: gatherFlags,
  async run(flags, { given }) {
    if (flags.timeout < 1000) throw refused("--timeout must be at least 1s");
    // Hosts may be named without --dir.
    checkSshFlags(given, "any");
    hostPlan(flags);
    const directory = flags.dir === "" ? undefined : await openInstallDirectory(flags.dir);
    const { out, complete, manifest } = await withPrivateFolder(async (folder) =>
      gather(await optionsOf(flags, given, directory, folder)),
    );
    const { sources, files, leftOut, failures } = manifest;
    for (const failure of failures) note(`Warning: ${failure}\n`);
    return { out, complete, sources, files: files.length, leftOut, failures };
  },
  show: ({ out, sources, files, leftOut }) =>
    [
      `${out}: ${files} files from ${sources.join(", ")}.\n`,
      ...leftOut.map(({ path, why }) => `Left out ${path}: ${why}.\n`),
      `Look into it with: drawbridge bootstrap analyze ${out}\n`,
    ].join(""),
  exitCode: ({ complete }) => (complete ? 0 : 1),
});

const LOG_NAMES: readonly string[] = ["konnectivity-server", "konnectivity-agent", "kube-apiserver"];

function hostPlan({ log, pki, healthPort, adminPort }: GatherFlags): HostPlan {
  const logs = log.map((given) => {
    const [, name = "", file = ""] = /^([^=]+)=(\/.+)$/.exec(given) ?? [];
    if (LOG_NAMES.some((known) => name === known || name.startsWith(`${known}-`))) return { name, file };
    throw refused(`--log ${quote(given)} is not NAME=/FILE with a name such as ${LOG_NAMES.join(", ")}`);
  });
  const directory = pki.find((path) => !path.startsWith("/"));
  if (directory !== undefined) throw refused(`--pki ${quote(directory)} is not an absolute path`);
  return { logs, pki, healthPort: healthPort || undefined, adminPort: adminPort || undefined };
}

async function optionsOf(
  flags: GatherFlags,
  given: ReadonlySet<string>,
  directory: InstallDirectory | undefined,
  folder: string,
): Promise<GatherOptions> {
  const { context, dir, namespace, node, stateDir } = flags;
  const now = new Date();
  const over = await bootstrapTarget(flags, directory, folder);
  const record = over === undefined ? await recordedHere(stateDir, given.has("state-dir")) : undefined;
  const recorded = record && { directory: stateDir, model: bridgeModel(record.options) };
  const plan = { ...hostPlan(flags), recorded };
  const kubeconfig = kubeconfigOf(flags.kubeconfig || ((await directory?.kubeconfig().catch(() => "")) ?? ""));
  if (kubeconfig === "" && context !== "") throw refused("--context needs --kubeconfig, --dir or KUBECONFIG");
  const isBridgeHere = record !== undefined || plan.logs.length > 0 || plan.pki.length > 0 || isBridgeHost();
  if (over === undefined && kubeconfig === "" && !isBridgeHere)
    throw new DrawbridgeError("DB_GATHER", "There is nothing of a bridge on this host.");
  const hosts = node.length > 0 ? node : ((await directory?.controlPlaneHosts()) ?? []);
  if (hosts.length > 0 && over === undefined)
    throw refused("--node needs --bootstrap or --dir: nodes are reached through the bootstrap host");
  return {
    out: flags.out || join(dir, `${archiveName(now)}.tar.gz`),
    ...{ version: VERSION, now, timeoutMs: flags.timeout },
    host: over !== undefined || isBridgeHere ? { over, plan } : undefined,
    // Machines of the control plane have private addresses, so they are reached through the bootstrap host.
    nodes: hosts.map((host) => ({ ...over!, host: checkedHost(host), through: over })),
    cluster: kubeconfig === "" ? undefined : { kubeconfig, context, namespaces: namespace },
    optional: { nodes: node.length === 0, cluster: flags.kubeconfig === "" },
  };
}
