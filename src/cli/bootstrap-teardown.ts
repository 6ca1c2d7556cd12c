/** `drawbridge bootstrap teardown`: parse, take the bridge down, write and print the receipt. */
import { accessSync, constants } from "node:fs";
import { dirname, resolve } from "node:path";
import { checkStateDirectory } from "../bootstrap/host/record.js";
import type { Receipt } from "../bootstrap/teardown/receipt.js";
import type { TeardownWishes } from "../bootstrap/teardown/teardown.js";
import { DrawbridgeError, messageOf } from "../errors/error.js";
import { declareTeardownFlags, teardownWishes } from "./bootstrap-teardown-flags.js";
import { runRole } from "./command.js";
import { quote } from "./flags/go-text.js";
import { usagePage } from "./help.js";
import type { Environment, Invocation } from "./invocation.js";
import { misuse } from "./subcommands.js";

interface TeardownConfig {
  readonly wishes: TeardownWishes;
  readonly receipt: string;
  readonly output: "text" | "json";
}

const purpose = `Takes the bridge away and writes a receipt of what was opened and what became of it.

First the kube-apiserver gets its own configuration back and is ready without the bridge; only then agents, server, socket
and certificates go. Run it on the bridge's host, or with --kubeconfig from anywhere for what is in the cluster.

It ends with 0 when all is gone, with 1 when it stopped because a kube-apiserver still uses the bridge, and with 3 when
something is left or the Kubernetes API did not answer; the receipt says what. Run it again then.`;

export function bootstrapTeardown(program: string, argv: readonly string[]): Promise<number> {
  return runRole({ parse: (words, env) => parse(program, words, env), run }, program, argv, { misuse });
}

function parse(program: string, argv: readonly string[], env: Environment): Invocation<TeardownConfig> {
  const { set, flags } = declareTeardownFlags(program);
  const { positional, warnings } = set.parse(argv);
  if (flags.help.value) return { help: usagePage(program, purpose, set) };
  const [word] = positional;
  if (word !== undefined) throw refused(`${quote(word)} belongs to no flag`);
  checkStateDirectory(flags.stateDirectory.value);
  if (flags.timeout.value <= 0n) throw refused("--timeout must be more than nothing");
  const config: TeardownConfig = {
    wishes: teardownWishes(flags, flags.kubeconfig.value || env.KUBECONFIG || ""),
    receipt: checkedReceipt(flags.receipt.value),
    output: flags.output.value ?? "text",
  };
  return { config, logging: { verbosity: 0, format: "text" }, warnings };
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

async function run({ wishes, receipt: file, output }: TeardownConfig): Promise<number> {
  const [{ takeDown }, { receiptMarkdown }, { thisHost }, { openApi }] = await Promise.all([
    import("../bootstrap/teardown/teardown.js"),
    import("../bootstrap/teardown/markdown.js"),
    import("../bootstrap/host/this-host.js"),
    import("../bootstrap/host/open-api.js"),
  ]);
  const receipt = await takeDown(thisHost(), wishes, openApi, (sentence) => process.stderr.write(`${sentence}\n`));
  for (const warning of receipt.warnings) process.stderr.write(`Warning: ${warning}\n`);
  const markdown = receiptMarkdown(receipt);
  const json = jsonText(receipt);
  process.stdout.write(output === "json" ? json : markdown);
  if (file !== "") await writeReceipt(file, json, markdown);
  return receipt.exitCode;
}

async function writeReceipt(file: string, json: string, markdown: string): Promise<void> {
  const { HostFiles } = await import("../bootstrap/host/files.js");
  const files = new HostFiles();
  await files.write(file, json, 0o644);
  await files.write(file.replace(/(\.json)?$/, ".md"), markdown, 0o644);
}

const jsonText = (receipt: Receipt): string => `${JSON.stringify(receipt, undefined, 2)}\n`;

function refused(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_FLAG_VALUE", sentence);
}
