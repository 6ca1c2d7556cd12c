import { sleep } from "../load/end.js";
import type { Fault } from "./fault.js";
import type { FaultContext } from "./perform.js";
import { untilLinksStand } from "./recovery.js";

/** Servers hear of the drain, and dials under way reach the agent, within this. */
const HEARD_MS = 2_000;
const LOOK_MS = 250;

/** The first signal breaks nothing: what runs goes on, new tunnels go elsewhere. Only the end of the process is a break. */
export async function drainAgent(context: FaultContext, fault: Fault, nextDrainSeconds: number, backWithinMs: number) {
  const { fixture, impacts } = context;
  const agent = fixture.agents[fault.agent]!;
  const area = { agent: fault.agent };
  const { daemon, drainSeconds } = agent;
  const since = performance.now();
  const endsByItself = drainSeconds > 0;
  if (endsByItself) daemon.allowExit();
  daemon.signal("SIGTERM");
  const until = since + (endsByItself ? drainSeconds * 1000 + 5_000 : fault.ms);
  while (daemon.running && performance.now() < until) {
    await sleep(LOOK_MS);
    const misplaced = daemon.running ? context.misplaced(fault.agent, since + HEARD_MS) : undefined;
    if (misplaced) throw new Error(`a draining agent got a new tunnel although another could take it: ${misplaced}`);
  }
  // An exit is seen a moment after the tunnels it ended.
  const impact = impacts.begin(fault.kind, "break", area, performance.now() - (endsByItself ? 2 * LOOK_MS : 0));
  const { code, signal } = endsByItself ? await endOf(context, fault) : await daemon.stop("SIGTERM");
  const expected = endsByItself ? 0 : 1;
  if (code !== expected)
    throw new Error(`${daemon.name} ended with ${signal ?? code}, not ${expected}, after its drain`);
  await sleep(200 + fault.turn * 1_500);
  await agent.start(nextDrainSeconds);
  await untilLinksStand(fixture, area, backWithinMs);
  impacts.end(impact);
}

async function endOf({ fixture }: FaultContext, fault: Fault) {
  const { daemon, drainSeconds } = fixture.agents[fault.agent]!;
  if (daemon.running) throw new Error(`${daemon.name} did not end ${drainSeconds} s and more after its drain began`);
  return await daemon.exited;
}
