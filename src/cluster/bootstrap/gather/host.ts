/** Runs the collection on a host, this one or one behind ssh. */
import { type TarEntry, tarEntries } from "../../../base/tar.js";
import { HostScript, type ScriptRun } from "../ssh/host-script.js";
import type { SshTarget } from "../ssh/ssh.js";
import type { Call } from "./plan.js";
import library from "./shell/collect.sh?raw";

/** The text that a host's bash reads from its standard input. `root` is where the host's files are, for tests. */
export function collectionScript(calls: readonly Call[], root = ""): string {
  const lines = calls.map((words) => `  ${words.map(quoted).join(" ")}`);
  // In a function, so that bash has read it all before any command could read from the same input.
  return `root=${quoted(root)}\n${library}\ncollect() {\n${lines.join("\n")}\n  send\n}\ncollect </dev/null\n`;
}

function quoted(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Limits on the archive of one host, far above what its script sends. */
const LIMITS = { bytes: 1024 ** 3, members: 10_000 };

/** The files of a host, as they arrive. Throws DB_SSH or DB_GATHER. */
export function hostEntries(calls: readonly Call[], over: SshTarget | undefined, timeoutMs: number) {
  return scriptEntries({ script: collectionScript(calls), over, timeoutMs });
}

export async function* scriptEntries(run: ScriptRun): AsyncGenerator<TarEntry, void, void> {
  const running = new HostScript(run);
  try {
    yield* tarEntries(running.stdout, LIMITS);
    await running.succeeded();
  } catch (reason) {
    throw await running.failure(reason);
  } finally {
    running.end();
  }
}
