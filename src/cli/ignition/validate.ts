/** `drawbridge ignition validate`: everything that is wrong with configs. */
import { messageOf } from "../../base/errors/error.js";
import type { LocatedProblem } from "../../cluster/ignition/problems.js";
import { boolean } from "../flags/flag-value.js";
import { complain } from "../framework/command.js";
import { nameOf, print, readConfigFile, runIgnitionCommand } from "./files.js";

const purpose = `Says everything that is wrong with configs of spec 3.0 to 3.5, with the verdict a machine would come to.

Ends with 0 when a machine would accept them all, with 1 otherwise. Warnings alone are accepted, unless --strict.`;

interface Verdict {
  readonly file: string;
  readonly ok: boolean;
  readonly version?: string;
  /** Why it cannot be read at all. */
  readonly error?: string;
  readonly findings: readonly ShownFinding[];
}

interface ShownFinding {
  readonly severity: LocatedProblem["severity"];
  readonly path: string;
  readonly line?: number;
  readonly column?: number;
  readonly message: string;
}

/** A config that is wrong everywhere says so often enough in this many lines. */
const MOST_SHOWN = 100;

export function ignitionValidate(program: string, argv: readonly string[]): Promise<number> {
  return runIgnitionCommand(program, argv, {
    purpose,
    words: "FILE...",
    files: { from: 1, to: Number.POSITIVE_INFINITY },
    declare: (set) => ({ strict: set.add("strict", boolean, false, "Let warnings fail, too.") }),
    run: async ({ strict, output }, files) => {
      const verdicts: Verdict[] = [];
      for (const file of files) verdicts.push(await verdictOn(file, strict.value));
      const ok = verdicts.every((verdict) => verdict.ok);
      print(output.value, { ok, files: verdicts }, () => verdicts.map(verdictText).join(""));
      return ok ? 0 : 1;
    },
  });
}

async function verdictOn(file: string, isStrict: boolean): Promise<Verdict> {
  const { readConfigOf } = await import("../../cluster/ignition/parse.js");
  const { versionOf } = await import("../../cluster/ignition/config.js");
  const name = nameOf(file);
  try {
    const reading = readConfigOf(await readConfigFile(file), name);
    const findings = reading.findings.map(shown);
    const ok = reading.ok && !(isStrict && findings.length > 0);
    return { file: name, ok, ...(reading.ok && { version: versionOf(reading.minor) }), findings };
  } catch (error) {
    // What cannot even be read must not keep the other files from being looked at.
    complain(error);
    return { file: name, ok: false, error: messageOf(error), findings: [] };
  }
}

function shown({ severity, path, position, message }: LocatedProblem): ShownFinding {
  return { severity, path: path.join("."), ...position, message };
}

function verdictText({ file, ok, version, findings }: Verdict): string {
  const head = ok ? `${file}: valid, spec ${version}\n` : `${file}: NOT VALID\n`;
  const lines = findings.slice(0, MOST_SHOWN).map(({ severity, path, line, column, message }) => {
    const place = line === undefined ? "" : `line ${line}, column ${column}: `;
    return `  ${severity}: ${place}${path || "the top"}: ${message}\n`;
  });
  const more = findings.length - lines.length;
  return `${head}${lines.join("")}${more > 0 ? `  and ${more} more\n` : ""}`;
}
