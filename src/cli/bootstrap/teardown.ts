/** `drawbridge bootstrap teardown`: take the bridge down, write and print the receipt. */

import { accessSync, constants } from "node:fs";
import { dirname, resolve } from "node:path";
import { messageOf } from "../../base/errors/error.js";
import { safeJson } from "../../base/text.js";
import { completedNetwork } from "../../cluster/bootstrap/firewall/plan.js";
import { HostFiles } from "../../cluster/bootstrap/host/files.js";
import { thisHost } from "../../cluster/bootstrap/host/host.js";
import { checkStateDirectory } from "../../cluster/bootstrap/host/record.js";
import { openApi } from "../../cluster/bootstrap/host/step.js";
import { openInstallDirectory, readInstallDir } from "../../cluster/bootstrap/install-dir.js";
import { topologies } from "../../cluster/bootstrap/model/names.js";
import { scriptText } from "../../cluster/bootstrap/ssh/host-script.js";
import { withPrivateFolder } from "../../cluster/bootstrap/ssh/ssh.js";
import { type Receipt, receiptMarkdown } from "../../cluster/bootstrap/teardown/receipt.js";
import { type TeardownOptions, takeDown } from "../../cluster/bootstrap/teardown/teardown.js";
import { networkFlags, networkOf } from "../firewall/command.js";
import { filePath, inGroup, lifetime, oneOf, text, type Values, yesNo } from "../flags/flag.js";
import { quote } from "../flags/go-values.js";
import { clusterFlags, kubeconfigOf } from "../flags/kubernetes.js";
import { refused } from "../flags/parse.js";
import { defineCommand, type Input } from "../framework/define.js";
import { complain, note } from "../framework/output.js";
import { stateDirFlag } from "./bridge-flags.js";
import { bootstrapTarget, checkSshFlags, sshFlags } from "./ssh-flags.js";

const teardownFlags = {
  "for-platform": oneOf(
    topologies,
    "Kind of control plane that the bridge was for. If empty, as recorded, else as found on the host and in the cluster.",
  ),
  dir: filePath(
    "Install directory of openshift-install on a workstation: cleans the cluster of its auth/kubeconfig and, where it still answers over SSH, the bootstrap host; not this host.",
  ),
  timeout: lifetime("2m", "Longest time that the whole teardown may take.", { least: 1 }),
  receipt: text("File for the receipt as JSON; the same as Markdown goes beside it, ending in .md."),
  force: yesNo("Go on although a kube-apiserver still uses the bridge and its webhooks will fail."),
  "restore-command": text(
    "Shell command that restarts a bare kube-apiserver without the flag. If empty, the one that up was given.",
  ),
  ...stateDirFlag,
  ...clusterFlags("an administrator", "the one of --dir, else the files of KUBECONFIG, then the one that up used"),
  ...inGroup("advanced", networkFlags("as the cluster says")),
  ...sshFlags("Address of the bootstrap host, with --dir. If empty, as --dir says."),
};

type TeardownFlags = Values<typeof teardownFlags>;

export default defineCommand({
  purpose: `Takes the bridge away and writes a receipt of what was opened and what became of it.

First the kube-apiserver gets its own configuration back and is ready without the bridge; only then agents, server, socket
and certificates go. Run it on the bridge's host, or with --kubeconfig from anywhere for what is in the cluster, or with
the --dir of openshift-install on a workstation, also when the bootstrap machine is gone.

It ends with 0 when all is gone, with 1 when it stopped because a kube-apiserver still uses the bridge, and with 3 when
something is left or the Kubernetes API did not answer; the receipt says what. Run it again then.`,
  examples: ["drawbridge bootstrap teardown --receipt receipt.json", "drawbridge bootstrap teardown --dir install"],
  flags: teardownFlags,
  config(flags, input) {
    checkPlaces(flags, input);
    return { flags, options: optionsOf(flags, input), file: checkedReceipt(flags.receipt) };
  },
  async run({ flags, options, file }) {
    const receipt = flags.dir === "" ? await takenDown(options) : await takenDownFrom(flags, options);
    for (const warning of receipt.warnings) note(`Warning: ${warning}\n`);
    const markdown = receiptMarkdown(receipt);
    // What is removed is removed: a receipt that cannot be kept is printed all the same.
    const isKept = await writeReceipt(file, `${safeJson(receipt, 2)}\n`, markdown).then(
      () => true,
      (reason: unknown) => {
        complain(reason);
        return false;
      },
    );
    return { receipt, markdown, isKept };
  },
  show: { text: ({ markdown }) => markdown, json: ({ receipt }) => receipt },
  exitCode: ({ receipt: { exitCode }, isKept }) => (isKept ? exitCode : exitCode || 1),
});

function checkPlaces(flags: TeardownFlags, { given }: Input): void {
  checkStateDirectory(flags.stateDir);
  checkSshFlags(given, flags.dir);
  if (flags.dir === "") return;
  const local = ["state-dir", "restore-command"].find((name) => given.has(name));
  if (local !== undefined) throw refused(`--${local} is for the bridge's own host and excludes --dir`);
  if (flags.forPlatform !== undefined && flags.forPlatform !== "openshift")
    throw refused(`--dir is for OpenShift and excludes --for-platform ${flags.forPlatform}`);
}

function optionsOf(flags: TeardownFlags, { env }: Input): TeardownOptions {
  return {
    for: flags.forPlatform,
    kubeconfig: kubeconfigOf(flags.kubeconfig, env),
    context: flags.context,
    stateDirectory: flags.stateDir,
    timeoutMs: flags.timeout,
    force: flags.force,
    restoreCommand: flags.restoreCommand || undefined,
    network: networkOf(flags),
  };
}

/** Before anything is removed: a receipt that cannot be written afterwards is lost. */
function checkedReceipt(file: string): string {
  if (file === "") return file;
  try {
    accessSync(dirname(resolve(file)), constants.W_OK);
  } catch (reason) {
    throw refused(`--receipt ${quote(file)} cannot be written: ${messageOf(reason)}`);
  }
  return resolve(file);
}

async function takenDown(options: TeardownOptions): Promise<Receipt> {
  return takeDown(thisHost(), options, openApi, (sentence) => note(`${sentence}\n`));
}

/** With everything that an install directory tells and no flag says. */
async function takenDownFrom(flags: TeardownFlags, options: TeardownOptions): Promise<Receipt> {
  const directory = await openInstallDirectory(flags.dir);
  const kubeconfig = flags.kubeconfig || (await directory.kubeconfig());
  const network = completedNetwork(options.network, await readInstallDir(directory.path));
  return withPrivateFolder(async (folder) => {
    const over = await bootstrapTarget(flags, directory, folder, true);
    const run = (script: string, timeoutMs: number) => scriptText({ script, over, timeoutMs });
    const elsewhere = { bootstrap: over && { name: over.host, run } };
    return takenDown({ ...options, kubeconfig, network, elsewhere });
  });
}

async function writeReceipt(file: string, json: string, markdown: string): Promise<void> {
  if (file === "") return;
  const files = new HostFiles();
  await files.write(file, json, 0o644);
  await files.write(file.replace(/(\.json)?$/, ".md"), markdown, 0o644);
}
