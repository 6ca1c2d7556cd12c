/** `drawbridge ignition validate`: everything that is wrong with configs. */

import { messageOf } from "../../base/errors/error.js";
import { versionOf } from "../../cluster/ignition/config.js";
import { readConfigOf } from "../../cluster/ignition/parse.js";
import type { LocatedProblem } from "../../cluster/ignition/problems.js";
import { yesNo } from "../flags/flag.js";
import { missing } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { inputName } from "../framework/files.js";
import { complain } from "../framework/output.js";
import { readConfigInput } from "./payloads.js";

/** Findings that are shown of one config. */
const MOST_SHOWN = 100;

export default defineCommand({
  purpose: `Says everything that is wrong with configs of spec 3.0 to 3.5, with the verdict a machine would come to.

Ends with 0 when a machine would accept them all, with 1 otherwise. Warnings alone are accepted, unless --strict.`,
  words: "FILE...",
  examples: ["drawbridge ignition validate worker.ign --strict"],
  flags: { strict: yesNo("Let warnings fail, too.") },
  async run({ strict }, { words, program }) {
    if (words.length === 0) throw missing(`at least one file is needed: ${program} FILE...`);
    const files: Validation[] = [];
    for (const file of words) files.push(await validationOf(file, strict));
    return { ok: files.every(({ ok }) => ok), files };
  },
  show: ({ files }) => files.map(validationText).join(""),
  exitCode: ({ ok }) => (ok ? 0 : 1),
});

type Validation = Awaited<ReturnType<typeof validationOf>>;

/** Of what cannot be read at all there is only the `error`. */
async function validationOf(file: string, isStrict: boolean) {
  const name = inputName(file);
  try {
    const reading = readConfigOf(await readConfigInput(file), name);
    const findings = reading.findings.map(shown);
    const ok = reading.ok && !(isStrict && findings.length > 0);
    return { file: name, ok, version: reading.ok ? versionOf(reading.minor) : undefined, findings };
  } catch (error) {
    // What cannot even be read must not keep the other files from being validated.
    complain(error);
    return { file: name, ok: false, version: undefined, error: messageOf(error), findings: [] };
  }
}

const shown = ({ severity, path, position, message }: LocatedProblem) => ({
  ...{ severity, path: path.join("."), line: position?.line, column: position?.column, message },
});

function validationText({ file, ok, version, findings }: Validation): string {
  const head = ok ? `${file}: valid, spec ${version}\n` : `${file}: NOT VALID\n`;
  const lines = findings.slice(0, MOST_SHOWN).map(({ severity, path, line, column, message }) => {
    const place = line === undefined ? "" : `line ${line}, column ${column}: `;
    return `  ${severity}: ${place}${path || "the top"}: ${message}\n`;
  });
  const more = findings.length - lines.length;
  return `${head}${lines.join("")}${more > 0 ? `  and ${more} more\n` : ""}`;
}
