/** `drawbridge pki renew`: issue again what is about to expire. */
import type { Renewal } from "../pki/renew.js";
import type { FlagSet } from "./flags/flag-set.js";
import { boolean } from "./flags/flag-value.js";
import { addDir, addOutput, listed, refuseWords, requiredDir, runPkiCommand } from "./pki-flags.js";

type RenewFlags = ReturnType<typeof declare>;

function declare(set: FlagSet) {
  return {
    dir: addDir(set),
    all: set.add("all", boolean, false, "Everything, not only what is in the last third of its life or damaged."),
    output: addOutput(set),
  };
}

export function pkiRenew(program: string, argv: readonly string[]): Promise<number> {
  const purpose = "Issues again what is about to expire or damaged, in a directory whose signer's key was kept.";
  return runPkiCommand(program, argv, { purpose, declare, run });
}

async function run(flags: RenewFlags, words: readonly string[]): Promise<number> {
  refuseWords(words);
  const dir = requiredDir(flags.dir);
  const { renewPki } = await import("../pki/renew.js");
  const renewal = await renewPki(dir, { all: flags.all.value });
  const { renewed, extended, manifest } = renewal;
  if (flags.output.value === "json") {
    process.stdout.write(`${JSON.stringify({ dir, renewed, extended, manifest }, null, 2)}\n`);
  } else {
    process.stdout.write(told(dir, renewal));
  }
  return 0;
}

function told(dir: string, { renewed, extended, manifest }: Renewal): string {
  if (renewed.length + extended.length === 0) return `Nothing in ${dir} is due:\n${listed(manifest)}`;
  const trust =
    extended.length === 0
      ? ""
      : `The certificate of ${extended.join(", ")} is a new one for the same key: hand it to everyone who trusts it before the old one ends.\n`;
  return `Renewed in ${dir}:\n${listed(manifest, [...renewed, ...extended])}${trust}`;
}
