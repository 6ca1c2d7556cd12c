/** Runs what a provider says. */
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { runCommand } from "../../../base/run-command.js";
import { workersError } from "../workers/worker.js";
import type { MachineStep } from "./provider.js";

const TIMEOUT_MS = 15 * 60_000;
/** Characters of what a program complains of: the pool's conditions and an event repeat it. */
const MOST_SAID = 800;

/** `name` is said when one fails; those after it are not run. All of them can be run again. */
export async function runSteps(name: string, steps: readonly MachineStep[]): Promise<void> {
  const results = new Map<string, string>();
  for (const { command: words, doneBefore, result } of steps) {
    const command = words.map((word) =>
      [...results].reduce((text, [key, value]) => text.replace(key, () => value), word),
    );
    // What tools print is understood in English only.
    const env = doneBefore === undefined ? {} : { LC_ALL: "C" };
    const { code, stderr, stdout } = await runCommand(command, { timeoutMs: TIMEOUT_MS, env });
    const problem = problemOf(stderr) || `it ended with ${code}`;
    if (code === 0 && result !== undefined) results.set(result, resultOf(name, stdout));
    if (code === 0 || doneBefore?.test(problem) === true) continue;
    throw workersError(`${command[0]} failed for ${name}: ${problem}`);
  }
}

/** From the last line that says so itself, as gcloud's, virsh's and virt-install's do; otherwise the last line. */
function problemOf(stderr: string): string {
  const lines = stderr.trim().split("\n");
  const said = lines.findLastIndex((line) => /^error\b/i.test(line));
  return (said === -1 ? (lines.at(-1) ?? "") : lines.slice(said, said + 2).join(" ")).slice(0, MOST_SAID);
}

/** It becomes a part of an argument, where commas separate parts. */
function resultOf(worker: string, output: string): string {
  const text = output.trim();
  if (!/^[^,\s]+$/.test(text)) throw workersError(`for ${worker} the path "${text}" cannot be used`);
  return text;
}

/** Throws when a program that these run is not on this host. */
export async function requireTools(steps: readonly MachineStep[]): Promise<void> {
  for (const tool of new Set(steps.map(({ command: [program = ""] }) => program))) {
    const places = tool.includes("/")
      ? [tool]
      : (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, tool));
    const found = await Promise.all(places.map(isExecutable));
    if (!found.includes(true)) {
      throw workersError(
        `the program ${tool} is not on this host, and machines are made and removed by it: install it first`,
      );
    }
  }
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** The command as a person could type it. */
export function shellText(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}
