/** `drawbridge bootstrap analyze`: parse, analyse, print. */

import { DrawbridgeError } from "../../base/errors/error.js";
import { choice } from "../flags/choice.js";
import { FlagSet } from "../flags/flag-set.js";
import { boolean } from "../flags/flag-value.js";
import { quote } from "../flags/go-text.js";
import { runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import type { Invocation } from "../framework/invocation.js";
import { MISUSE } from "../framework/subcommands.js";

interface AnalyzeConfig {
  readonly path: string;
  readonly output: "text" | "json";
}

const purpose = `Names the cause of a bridge that does not work, with its evidence and what to do, most likely first.

Reads an archive of drawbridge bootstrap gather, a log bundle of openshift-install gather bootstrap, or a directory with
one of them unpacked. Ends with 0 when it finds nothing, with 1 when it finds something.`;

export function bootstrapAnalyze(program: string, argv: readonly string[]): Promise<number> {
  return runRole({ parse: (words) => parse(program, words), run }, program, argv, { misuse: MISUSE });
}

function parse(program: string, argv: readonly string[]): Invocation<AnalyzeConfig> {
  const set = new FlagSet();
  const help = set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" });
  const output = set.add("output", choice("text", "json"), undefined, "For people or for scripts. If empty, text.");
  const { positional, warnings } = set.parse(argv);
  if (help.value) return { help: usagePage(`${program} FILE|DIR`, purpose, set) };
  const [path, extra] = positional;
  if (path === undefined) throw refused(`the archive is missing: ${program} FILE|DIR`);
  if (extra !== undefined) throw refused(`${quote(extra)} is one archive too many`);
  return { config: { path, output: output.value ?? "text" }, logging: { verbosity: 0, format: "text" }, warnings };
}

const refused = (sentence: string) => new DrawbridgeError("DB_FLAG_VALUE", sentence);

async function run({ path, output }: AnalyzeConfig): Promise<number> {
  const [{ analyze }, { findingsJson, findingsText }] = await Promise.all([
    import("../../insight/diagnosis/analyze.js"),
    import("../../insight/diagnosis/report.js"),
  ]);
  const { kind, findings, observations } = await analyze(path);
  const by = kind === "drawbridge" ? "drawbridge bootstrap gather" : "openshift-install gather bootstrap";
  const notes = observations.map((sentence) => `  ${sentence}\n`).join("");
  process.stdout.write(
    output === "json"
      ? findingsJson({ bundle: path, kind, observations }, findings)
      : [
          `${path} (by ${by})\n\n`,
          findings.length === 0 ? "Nothing wrong was found.\n" : findingsText(findings),
          notes === "" ? "" : `\nWorth knowing:\n${notes}`,
        ].join(""),
  );
  return findings.length === 0 ? 0 : 1;
}
