import { waitUntil, within } from "../../test/support/processes/deadline.js";
import { linkStands } from "../faults/recovery.js";
import { sleep } from "../load/end.js";
import type { Random } from "../random.js";
import type { Impacts } from "../watch/impacts.js";
import type { Pair, Role } from "./pair.js";

/** SIGKILL; SIGTERM; SIGSTOP and, a while later, SIGCONT. */
export type Deed = "killed" | "terminated" | "frozen";

export interface Kill {
  readonly victim: Role;
  readonly deed: Deed;
  /** Terminated with a limit for its drain; without one a server cuts at once, and an agent at a second signal. */
  readonly drains: boolean;
  readonly from: number;
  /** Absent until everything serves again. */
  until?: number;
}

const BACK_WITHIN_MS = 30_000;
const END_WITHIN_MS = 15_000;

/** Does something to one process of the pair; everything serves again when it resolves. Rejects with a sentence. */
export async function perform(pair: Pair, impacts: Impacts, random: Random): Promise<Kill> {
  const deed = random.weighted([
    [4, "killed"],
    [3, "terminated"],
    [3, "frozen"],
  ] as const);
  // Being frozen ends nobody, so it may also happen to the one that lives through the run.
  const victim = deed === "frozen" ? random.pick(["server", "agent"] as const) : pair.mortal;
  const drains = deed === "terminated" && pair.drainSeconds > 0;
  const kill: Kill = { victim, deed, drains, from: performance.now() };
  pair.kills.push(kill);
  const severity = deed === "frozen" ? "delay" : "break";
  const impact = impacts.begin(`${victim} ${deed}`, severity, { server: pair.index }, kill.from);
  if (deed === "frozen") await freeze(pair, victim, random.magnitude(20, 2_500));
  else {
    if (deed === "killed") await pair[victim].daemon.stop("SIGKILL");
    else await terminate(pair, victim);
    await sleep(random.between(0, 300));
    await pair.start(victim, random);
    const back = () => linkStands({ servers: [pair.server] }, { server: 0, agent: pair.index });
    await waitUntil(`${pair.server.daemon.name} to have its agent again`, back, { withinMs: BACK_WITHIN_MS });
  }
  impacts.end(impact);
  kill.until = performance.now();
  return kill;
}

async function terminate(pair: Pair, victim: Role): Promise<void> {
  const { daemon } = pair[victim];
  daemon.allowExit();
  daemon.signal("SIGTERM");
  // An agent without a limit drains until it is told a second time, and then ends with exit code 1, as upstream's does.
  const twice = victim === "agent" && pair.drainSeconds === 0;
  if (twice) {
    await sleep(300);
    daemon.signal("SIGTERM");
  }
  const { code, signal } = await within(END_WITHIN_MS, `${daemon.name} to end after SIGTERM`, daemon.exited);
  const expected = twice ? 1 : 0;
  if (code !== expected) throw new Error(`${daemon.name} ended with ${signal ?? code}, not ${expected}, after SIGTERM`);
}

async function freeze(pair: Pair, victim: Role, ms: number): Promise<void> {
  pair[victim].daemon.signal("SIGSTOP");
  await sleep(ms);
  pair[victim].daemon.signal("SIGCONT");
}
