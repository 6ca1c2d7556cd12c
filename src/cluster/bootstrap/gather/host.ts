/** Runs the collection on a host, this one or one behind ssh. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { DamagedArchive, type TarEntry, tarEntries } from "../../../base/tar.js";
import { callingScript, type ScriptRun, scriptOutput } from "../ssh/host-script.js";
import { quoted, type SshTarget } from "../ssh/ssh.js";
import type { Call } from "./plan.js";
import library from "./shell/collect.sh?raw";

/** The text that a host's bash reads from its standard input. `root` is where the host's files are, for tests. */
export const collectionScript = (calls: readonly Call[], root = ""): string =>
  `root=${quoted(root)}\n${callingScript(library, [...calls, ["send"]])}`;

/** Limits on the archive of one host, far above what its script sends. */
const LIMITS = { bytes: 1024 ** 3, members: 10_000 };

/** The files of a host, as they arrive. Throws DB_SSH or DB_GATHER. */
export function hostEntries(calls: readonly Call[], over: SshTarget | undefined, timeoutMs: number) {
  return scriptEntries({ script: collectionScript(calls), over, timeoutMs });
}

export async function* scriptEntries(run: ScriptRun): AsyncGenerator<TarEntry, void, void> {
  try {
    yield* tarEntries(scriptOutput(run), LIMITS);
  } catch (reason) {
    if (!(reason instanceof DamagedArchive)) throw reason;
    const sentence = `The archive from ${run.over?.host ?? "this host"} cannot be read: ${reason.message}.`;
    throw new DrawbridgeError("DB_GATHER", sentence, { cause: reason });
  }
}
