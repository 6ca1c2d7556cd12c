/** Runs the collection on a host, this one or one behind ssh, and hands on its files as they arrive. */
import { type TarEntry, tarEntries } from "../../../base/tar.js";
import { HostScript, type ScriptRun } from "../ssh/host-script.js";

/** What one host can send; its script stays far below. */
const limits = { bytes: 1024 ** 3, members: 10_000 };

/** Throws DB_SSH or DB_GATHER. */
export async function* hostEntries(run: ScriptRun): AsyncGenerator<TarEntry, void, void> {
  const running = new HostScript(run);
  try {
    yield* tarEntries(running.stdout, limits);
    await running.succeeded();
  } catch (reason) {
    throw await running.failure(reason);
  } finally {
    running.end();
  }
}
