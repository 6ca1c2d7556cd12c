/** `drawbridge nodepool apply`: check a file of pools, and bring it where they are kept. */

import { outcomesText } from "../../cluster/kube/apply.js";
import type { Flag, FlagSet } from "../flags/flag-set.js";
import { boolean, string } from "../flags/flag-value.js";
import { objectsText } from "../framework/objects-file.js";
import { addOutput, json, refused, runPlainCommand } from "../framework/plain-command.js";
import { type AccessFlags, CLUSTER_HELP, checkAccess, declareAccess, noWords, withObjects } from "./flags.js";

const purpose = `Brings NodePools, and the ConfigMaps and Secrets they stand on, from a YAML file into a cluster by server-side apply, or into
a directory of objects. Everything is checked before anything is written; what must not change is refused.

${CLUSTER_HELP}`;

interface ApplyFlags extends AccessFlags {
  readonly file: Flag<string>;
  readonly dryRun: Flag<boolean>;
  readonly force: Flag<boolean>;
  readonly output: Flag<"text" | "json" | undefined>;
}

export function nodepoolApply(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, { purpose, declare, check, run });
}

function declare(set: FlagSet): ApplyFlags {
  return {
    ...declareAccess(set),
    file: set.add("filename", string, "", "File with the objects; - for standard input.", { shorthand: "f" }),
    dryRun: set.add("dry-run", boolean, false, "Let the cluster judge, and write nothing."),
    force: set.add("force-conflicts", boolean, false, "Take over fields that another manager set."),
    output: addOutput(set),
  };
}

function check(flags: ApplyFlags, words: readonly string[]): void {
  noWords(words);
  checkAccess(flags);
  if (flags.file.value === "") throw refused("--filename is missing: which file?");
  if (flags.dryRun.value && flags.directory.value !== "") throw refused("--dry-run needs a cluster to judge");
}

async function run(flags: ApplyFlags): Promise<number> {
  const { applyObjects, readObjects } = await import("../../cluster/nodes/controller/apply-objects.js");
  const [file, text] = await objectsText(flags.file.value);
  const objects = readObjects(file, text, flags.namespace.value);
  const options = { dryRun: flags.dryRun.value, force: flags.force.value };
  const applied = await withObjects(flags, (api) => applyObjects(api, objects, options));
  const said = flags.dryRun.value ? "Nothing was written (--dry-run); these objects would be:\n" : "";
  process.stdout.write(flags.output.value === "json" ? json({ objects: applied }) : said + outcomesText(applied));
  return 0;
}
