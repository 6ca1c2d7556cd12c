import type { Fixture } from "../fixture/fixture.js";
import { sleep } from "../load/end.js";

/** All processes end as they should when they are asked to. Rejects with a sentence. */
export async function ending(fixture: Pick<Fixture, "servers" | "agents">): Promise<void> {
  for (const { daemon, drainSeconds } of fixture.agents) {
    daemon.allowExit();
    daemon.signal("SIGTERM");
    // Two signals at once would be one.
    await sleep(500);
    // Without a drain timeout the second signal ends it, with exit code 1 as upstream has it.
    const { code, signal } = drainSeconds > 0 ? await daemon.exited : await daemon.stop("SIGTERM");
    const expected = drainSeconds > 0 ? 0 : 1;
    if (code !== expected)
      throw new Error(`${daemon.name} ended with ${signal ?? code}, not ${expected}, when asked to`);
  }
  for (const { daemon } of fixture.servers) {
    const { code, signal } = await daemon.stop("SIGTERM");
    if (code !== 0) throw new Error(`${daemon.name} ended with ${signal ?? code} when asked to`);
  }
}
