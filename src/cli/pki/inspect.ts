/** `drawbridge pki inspect`: what certificates are, what is wrong, what to do. */
import type { FlagSet } from "../flags/flag-set.js";
import { string, stringSlice } from "../flags/flag-value.js";
import { addOutput, refused, runPkiCommand } from "./flags.js";
import { reportText } from "./report.js";

type InspectFlags = ReturnType<typeof declare>;

function declare(set: FlagSet) {
  return {
    address: set.add("address", string, "", "Where agents dial the server; its certificate must be for it."),
    ca: set.add("ca", stringSlice, [], "File with further authorities to check chains against."),
    output: addOutput(set),
  };
}

export function pkiInspect(program: string, argv: readonly string[]): Promise<number> {
  const purpose = "Says what certificates are, what is wrong and what to do. Ends with 1 when something is wrong.";
  return runPkiCommand(program, argv, { purpose, words: " FILE|DIR...", declare, run });
}

async function run(flags: InspectFlags, paths: readonly string[]): Promise<number> {
  if (paths.length === 0) throw refused("name a certificate file or a directory to inspect");
  const { inspectPath } = await import("../../tunnel/pki/inspect/inspect.js");
  const now = new Date();
  const options = { caFiles: flags.ca.value, now, ...(flags.address.value !== "" && { address: flags.address.value }) };
  const reports = [];
  for (const path of paths) reports.push(await inspectPath(path, options));
  const wrong = reports.some(({ findings }) => findings.some(({ severity }) => severity === "wrong"));
  const text =
    flags.output.value === "json"
      ? `${JSON.stringify({ ok: !wrong, reports }, null, 2)}\n`
      : reports.map((report) => reportText(report, now)).join("\n");
  process.stdout.write(text);
  return wrong ? 1 : 0;
}
