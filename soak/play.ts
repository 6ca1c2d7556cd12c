import type { Assembly } from "./assembly.js";
import { untilLinksStand } from "./faults/recovery.js";
import { sleep } from "./load/end.js";
import type { SoakOptions } from "./options.js";
import { scheduleOf } from "./rounds.js";
import { account, type CensusRow, takeCensus } from "./watch/census.js";
import { ending } from "./watch/ending.js";
import { growthIn } from "./watch/growth.js";

const CONNECTED_WITHIN_MS = 20_000;
const LONG_TUNNELS = { pingPong: 2, idle: 6 } as const;
const LONG_TUNNELS_IN_SMOKE = { pingPong: 1, idle: 2 } as const;
const NOBODY = { size: 0, count: () => 0 };

export interface Script {
  readonly options: SoakOptions;
  readonly assembly: Assembly;
  /** Filled as the run goes on. */
  readonly census: CensusRow[];
  readonly onStage: (name: string) => void;
}

/** Warm-up, rounds, ending. Rejects with a sentence when something did not come back or does not add up. */
export async function play({ options, assembly, census, onStage }: Script): Promise<void> {
  const { random, fixture, ground, traffic, longTunnels, conductor } = assembly;
  const schedule = scheduleOf(options.minutes, options.smoke);
  await untilLinksStand(fixture, {}, CONNECTED_WITHIN_MS);
  longTunnels.start(random.fork("standing"), options.smoke ? LONG_TUNNELS_IN_SMOKE : LONG_TUNNELS);
  traffic.start(random.fork("warm-up"));
  await sleep(schedule.warmUpMs);
  await count(assembly, census, "warm-up census");
  for (let number = 1; number <= schedule.rounds; number++) {
    const round = `round ${number}/${schedule.rounds}`;
    onStage(round);
    traffic.start(random.fork(round));
    if (number === 1) setTimeout(() => void sabotage(assembly), schedule.faultsMs / 3);
    await conductor.playRound(random.fork(`${round} faults`), schedule.faultsMs, options.smoke);
    await count(assembly, census, `${round} census`);
  }
  onStage("ending");
  await longTunnels.stop();
  await account(fixture, ground.hub, NOBODY, ground.court.seconds);
  await assembly.poller.stop();
  await ending(fixture);
}

/** Load comes to rest, then everything is counted. */
async function count(assembly: Assembly, census: CensusRow[], label: string): Promise<void> {
  const { random, fixture, ground, runner, traffic, longTunnels, verdicts } = assembly;
  await traffic.stop();
  verdicts.decideAll();
  census.push(await takeCensus({ fixture, hub: ground.hub, runner, longTunnels, random: random.fork(label) }));
  const [growth] = growthIn(census);
  if (growth) throw new Error(growth);
}

async function sabotage({ saboteur, fixture, ground, veterans }: Assembly): Promise<void> {
  await saboteur.begin(fixture, ground.hub, veterans, () => ground.court.first !== undefined);
}
