import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { Conductor } from "./faults/conductor.js";
import type { Veterans } from "./faults/plan.js";
import { AGENTS, type Fixture, openFixture, SERVERS } from "./fixture/fixture.js";
import type { Ground } from "./load/ground.js";
import { Hub } from "./load/hub.js";
import { LongTunnels } from "./load/long-tunnels.js";
import { Runner } from "./load/runner.js";
import { Traffic } from "./load/traffic.js";
import type { SoakOptions } from "./options.js";
import { Random } from "./random.js";
import { Saboteur } from "./sabotage.js";
import { Court } from "./watch/court.js";
import { Impacts } from "./watch/impacts.js";
import { LogLines } from "./watch/log-lines.js";
import { misplacedErrand } from "./watch/misplaced.js";
import { Poller } from "./watch/poller.js";
import { Tally } from "./watch/tally.js";
import { Verdicts } from "./watch/verdicts.js";
import { Watchdog } from "./watch/watchdog.js";

/** Everything a run consists of, put together and started. */
export interface Assembly {
  readonly random: Random;
  readonly fixture: Fixture;
  readonly ground: Ground;
  readonly veterans: Veterans;
  readonly runner: Runner;
  readonly traffic: Traffic;
  readonly longTunnels: LongTunnels;
  readonly conductor: Conductor;
  readonly verdicts: Verdicts;
  readonly poller: Poller;
  readonly saboteur: Saboteur;
  readonly lines: LogLines;
  close(): Promise<void>;
}

/** `dir` keeps the logs. */
export async function assemble(options: SoakOptions, dir: string, say: (line: string) => void): Promise<Assembly> {
  const random = new Random(options.seed);
  const veterans = { server: random.whole(0, SERVERS - 1), agent: random.whole(0, AGENTS - 1) };
  const [court, tally, impacts] = [new Court(), new Tally(), new Impacts()];
  const lines = new LogLines(court);
  const fixture = await openFixture(dir, court, lines);
  const watchdog = new Watchdog(court, impacts);
  const hub = await Hub.open((address) => court.violation(`a connection to ${address} was never closed by its agent`));
  const saboteur = new Saboteur(options.sabotage);
  const ground = { seed: options.seed, fixture, hub, court, impacts, watchdog, tally, jobs: new Map(), saboteur };
  const verdicts = new Verdicts(court, impacts, tally, AGENTS);
  const runner = new Runner(ground, verdicts);
  const traffic = new Traffic(runner, { bytesPerSecond: options.megabytesPerSecond * 1e6, hurry: options.smoke });
  const conductor = new Conductor({
    context: {
      fixture,
      impacts,
      storm: (tunnels) => traffic.storm(random.fork(`storm ${tally.faultCount}`), tunnels),
      misplaced: (agent, since) => misplacedErrand(ground, agent, since),
    },
    court,
    tally,
    veterans,
    log: (line) => {
      const timed = `${court.seconds.toFixed(1)} s: ${line}`;
      appendFileSync(join(dir, "faults.log"), `${timed}\n`);
      if (options.smoke) say(timed);
    },
  });
  const close = async () => {
    watchdog.close();
    await hub.close();
    await fixture.close();
  };
  const longTunnels = new LongTunnels(runner);
  const poller = new Poller(fixture, ground.jobs);
  return {
    random,
    fixture,
    ground,
    veterans,
    runner,
    traffic,
    longTunnels,
    conductor,
    verdicts,
    poller,
    saboteur,
    lines,
    close,
  };
}
