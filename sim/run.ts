/** Runs a scenario from its beginning to its end, and says what it found. */
import { looseViews } from "../src/base/byte-queue.js";
import { bytesOf, endOf, isSilent, noticedAt, plan, transferMs } from "./faults/faults.js";
import { watch } from "./properties/always.js";
import { watchDials } from "./properties/dials.js";
import { judgeEnd } from "./properties/end.js";
import { watchLinks } from "./properties/links.js";
import { isComparable, judgeDelay, withoutStops } from "./properties/stopped.js";
import { System } from "./systems/system.js";
import type { Outcome, RunOptions, Scenario } from "./types.js";
import { World } from "./world/world.js";

/** After the last fault, with everybody reading, what has been opened is closed within this. */
const WITHIN_MS = 10_000;

/** How long those who stop to read do so, where it is seen whether others have to wait for them. */
const STOPPED_MS = 5_000;

const LOOSE_BYTES = looseViews.bytesLeft;

/** How often it looks whether everything is over. */
const STEP_MS = 250;

export async function runScenario(scenario: Scenario, options: RunOptions = {}): Promise<Outcome> {
  const stoppedMs = isComparable(scenario) ? STOPPED_MS : 0;
  const { system, outcome } = await play(scenario, options, stoppedMs);
  if (outcome.failure !== undefined || stoppedMs === 0) return outcome;
  // The same world, in which nobody stops to read.
  const other = await play(withoutStops(scenario), {}, stoppedMs);
  const failure = other.outcome.failure ?? judgeDelay(system, other.system);
  return failure === undefined ? outcome : { ...outcome, failure };
}

async function play(
  scenario: Scenario,
  { trace }: RunOptions,
  stoppedMs: number,
): Promise<{ system: System; outcome: Outcome }> {
  const { seed, network, callers, faults } = scenario;
  // What a process shares, a world does not inherit from the one before it.
  looseViews.bytesLeft = LOOSE_BYTES;
  const world = new World({ seed, trace, timerLatenessMs: network.timerLatenessMs });
  const system = new System(world, scenario);
  watch(system);
  const endings = [watchDials(system), watchLinks(system)];
  system.start();
  for (const fault of faults) plan(system, fault);
  const overAt = Math.max(0, ...faults.map(endOf), ...callers.map(({ atMs }) => atMs));
  const calmAt = Math.max(overAt + stoppedMs, ...faults.map(noticedAt));
  world.after(calmAt, "calm", () => system.calm());
  const dialMs = Math.max(0, ...[...system.servers.values()].map(({ plan: { dialTimeoutMs } }) => dialTimeoutMs));
  const until = calmAt + dialMs + WITHIN_MS + transferMs(network, bytesOf(scenario));
  const silentUntil = Math.max(0, ...faults.filter(isSilent).map(noticedAt));
  const isOver = (): boolean =>
    world.now >= Math.max(overAt, silentUntil) && system.conversations.every((each) => system.isOver(each));
  while (world.failure === undefined && world.now < until && !isOver()) {
    await world.run(Math.min(until, world.now + STEP_MS));
  }
  if (world.failure === undefined) await judgeEnd(system);
  for (const end of endings) end();
  const { events, now: virtualMs, hash, failure } = world;
  return { system, outcome: { events, virtualMs, hash, ...(failure === undefined ? {} : { failure }) } };
}
