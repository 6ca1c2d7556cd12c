/** `drawbridge bootstrap teardown`: parse, take the bridge down, write and print the receipt. */
import { accessSync, constants } from "node:fs";
import { dirname, resolve } from "node:path";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { checkStateDirectory } from "../../cluster/bootstrap/host/record.js";
import type { InstallDirectory } from "../../cluster/bootstrap/install-dir.js";
import type { RemoteHost } from "../../cluster/bootstrap/teardown/host-side.js";
import type { Receipt } from "../../cluster/bootstrap/teardown/receipt.js";
import type { TeardownOptions } from "../../cluster/bootstrap/teardown/teardown.js";
import { quote } from "../flags/go-text.js";
import { runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import type { Environment, Invocation } from "../framework/invocation.js";
import { MISUSE } from "../framework/subcommands.js";
import { checkSshFlags, knownTarget, refuseSshFlags } from "./ssh.js";
import { declareTeardownFlags, type TeardownFlags, teardownWishes } from "./teardown-flags.js";

interface TeardownConfig {
  readonly flags: TeardownFlags;
  readonly wishes: TeardownOptions;
  readonly receipt: string;
  readonly output: "text" | "json";
}

const purpose = `Takes the bridge away and writes a receipt of what was opened and what became of it.

First the kube-apiserver gets its own configuration back and is ready without the bridge; only then agents, server, socket
and certificates go. Run it on the bridge's host, or with --kubeconfig from anywhere for what is in the cluster, or with
the --dir of openshift-install on a workstation, also when the bootstrap machine is gone.

It ends with 0 when all is gone, with 1 when it stopped because a kube-apiserver still uses the bridge, and with 3 when
something is left or the Kubernetes API did not answer; the receipt says what. Run it again then.`;

export function bootstrapTeardown(program: string, argv: readonly string[]): Promise<number> {
  return runRole({ parse: (words, env) => parse(program, words, env), run }, program, argv, { misuse: MISUSE });
}

function parse(program: string, argv: readonly string[], env: Environment): Invocation<TeardownConfig> {
  const { set, flags } = declareTeardownFlags(program);
  const { positional, warnings } = set.parse(argv);
  if (flags.help.value) return { help: usagePage(program, purpose, set) };
  const [word] = positional;
  if (word !== undefined) throw refused(`${quote(word)} belongs to no flag`);
  checkStateDirectory(flags.stateDirectory.value);
  if (flags.timeout.value <= 0n) throw refused("--timeout must be more than nothing");
  checkPlaces(flags);
  const config: TeardownConfig = {
    flags,
    wishes: teardownWishes(flags, flags.kubeconfig.value || env.KUBECONFIG || ""),
    receipt: checkedReceipt(flags.receipt.value),
    output: flags.output.value ?? "text",
  };
  return { config, logging: { verbosity: 0, format: "text" }, warnings };
}

function checkPlaces(flags: TeardownFlags): void {
  checkSshFlags(flags);
  if (flags.dir.value === "") {
    refuseSshFlags(flags);
    return;
  }
  const local = [flags.stateDirectory, flags.restoreCommand].find(({ changed }) => changed);
  if (local !== undefined) throw refused(`--${local.name} is for the bridge's own host and excludes --dir`);
  if (flags.for.value !== undefined && flags.for.value !== "openshift")
    throw refused(`--dir is for OpenShift and excludes --for-platform ${flags.for.value}`);
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

async function run({ flags, wishes, receipt: file, output }: TeardownConfig): Promise<number> {
  const { receiptMarkdown } = await import("../../cluster/bootstrap/teardown/receipt.js");
  const receipt = flags.dir.value === "" ? await takenDown(wishes) : await takenDownFrom(flags, wishes);
  for (const warning of receipt.warnings) process.stderr.write(`Warning: ${warning}\n`);
  const markdown = receiptMarkdown(receipt);
  const json = jsonText(receipt);
  process.stdout.write(output === "json" ? json : markdown);
  if (file !== "") await writeReceipt(file, json, markdown);
  return receipt.exitCode;
}

async function takenDown(wishes: TeardownOptions): Promise<Receipt> {
  const [{ takeDown }, { thisHost }, { openApi }] = await Promise.all([
    import("../../cluster/bootstrap/teardown/teardown.js"),
    import("../../cluster/bootstrap/host/host.js"),
    import("../../cluster/bootstrap/host/step.js"),
  ]);
  return takeDown(thisHost(), wishes, openApi, (sentence) => process.stderr.write(`${sentence}\n`));
}

/** With everything that an install directory tells and no flag says. */
async function takenDownFrom(flags: TeardownFlags, wishes: TeardownOptions): Promise<Receipt> {
  const [{ openInstallDirectory }, { readInstallDir }, { withPrivateFolder }] = await Promise.all([
    import("../../cluster/bootstrap/install-dir.js"),
    import("../../cluster/bootstrap/firewall/install-dir.js"),
    import("../../cluster/bootstrap/ssh/ssh.js"),
  ]);
  const directory = await openInstallDirectory(flags.dir.value);
  const kubeconfig = flags.kubeconfig.value || (await directory.kubeconfig());
  const { platform, infraId, machineNetworks } = await readInstallDir(directory.path);
  const { firewall } = wishes;
  return withPrivateFolder(async (folder) =>
    takenDown({
      ...wishes,
      kubeconfig,
      elsewhere: { bootstrap: await farHost(flags, directory, folder) },
      firewall: {
        ...firewall,
        platform: firewall.platform ?? platform,
        infraId: firewall.infraId ?? infraId,
        machineNetworks: firewall.machineNetworks.length > 0 ? firewall.machineNetworks : machineNetworks,
      },
    }),
  );
}

async function farHost(
  flags: TeardownFlags,
  directory: InstallDirectory,
  folder: string,
): Promise<RemoteHost | undefined> {
  const target = await knownTarget(flags, directory, folder);
  if (target === undefined) return undefined;
  const { scriptText } = await import("../../cluster/bootstrap/ssh/host-script.js");
  return { name: target.host, run: (script, timeoutMs) => scriptText({ script, over: target, timeoutMs }) };
}

async function writeReceipt(file: string, json: string, markdown: string): Promise<void> {
  const { HostFiles } = await import("../../cluster/bootstrap/host/files.js");
  const files = new HostFiles();
  await files.write(file, json, 0o644);
  await files.write(file.replace(/(\.json)?$/, ".md"), markdown, 0o644);
}

const jsonText = (receipt: Receipt): string => `${JSON.stringify(receipt, undefined, 2)}\n`;

function refused(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_FLAG_VALUE", sentence);
}
