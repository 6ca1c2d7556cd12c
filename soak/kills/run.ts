import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { Scope } from "../../test/support/processes/scope.js";
import { Frontends } from "../fixture/frontends.js";
import { openWorks } from "../fixture/works.js";
import { sleep } from "../load/end.js";
import type { SoakOptions } from "../options.js";
import { Random } from "../random.js";
import type { Observer } from "../run.js";
import { Saboteur } from "../sabotage.js";
import { account, type CensusRow } from "../watch/census.js";
import { Court, type Violation } from "../watch/court.js";
import { ending } from "../watch/ending.js";
import { keepEvidence } from "../watch/evidence.js";
import { growthIn } from "../watch/growth.js";
import { Impacts } from "../watch/impacts.js";
import { LogLines } from "../watch/log-lines.js";
import { Tally } from "../watch/tally.js";
import { Watchdog } from "../watch/watchdog.js";
import { perform } from "./kill.js";
import { Pair } from "./pair.js";
import { Outcomes, Streams } from "./streams.js";

/** Two whose agents are killed and two whose servers are. */
const PAIRS = 4;
const STREAMS_AT_ONCE = 12;
const WARM_UP_MS = 8_000;
/** Load rests and everything is counted after so many kills of a pair. */
const CENSUS_EVERY = 25;
/** Shorter than the watchdog's patience: upstream's client tries a server that was away again after ever longer pauses. */
const DIAL_WITHIN_MS = 9_000;
const PROGRESS_EVERY_MS = 15_000;
const NOBODY = { size: 0, count: () => 0 };

export interface KillsOutcome {
  readonly violation: Violation | undefined;
  readonly seconds: number;
  readonly tally: Tally;
  readonly outcomes: Outcomes;
  readonly warnings: ReadonlyMap<string, number>;
  readonly worstGapSeconds: number;
  readonly withGo: boolean;
  readonly pairs: readonly {
    readonly mortal: Pair["mortal"];
    readonly census: readonly CensusRow[];
    readonly starts: readonly number[];
  }[];
}

/** So many kills under load, shared by pairs that know nothing of each other. */
export async function soakKills(options: SoakOptions, dir: string, observer: Observer): Promise<KillsOutcome> {
  const random = new Random(options.seed);
  const [court, tally, impacts, outcomes] = [new Court(), new Tally(), new Impacts(), new Outcomes()];
  const lines = new LogLines(court);
  const watchdog = new Watchdog(court, impacts);
  const scope = new Scope();
  scope.defer(() => watchdog.close());
  try {
    const works = openWorks(dir, court, lines, scope);
    const pairs: Pair[] = [];
    for (let index = 0; index < PAIRS; index++) {
      pairs.push(await Pair.open(index, works, court, scope, random.fork(`pair ${index}`)));
    }
    const frontends = new Frontends(
      pairs.map(({ doors }) => doors),
      DIAL_WITHIN_MS,
    );
    const census = pairs.map((): CensusRow[] => []);
    let left = options.kills!;
    const play = async (pair: Pair): Promise<void> => {
      const own = random.fork(`kills ${pair.index}`);
      const ground = {
        ...{ seed: `${options.seed}/${pair.index}`, fixture: { frontends }, hub: pair.hub, court, impacts, watchdog },
        ...{ tally, jobs: new Map(), saboteur: new Saboteur(undefined) },
      };
      const rate = (options.megabytesPerSecond * 1e6) / PAIRS;
      const streams = new Streams(pair, ground, outcomes, rate);
      const count = async () => {
        await streams.stop();
        census[pair.index]!.push(await account(pair, pair.hub, NOBODY, court.seconds));
        const [growth] = growthIn(census[pair.index]!);
        if (growth) throw new Error(growth);
      };
      streams.start(own.fork("warm-up"), STREAMS_AT_ONCE);
      await sleep(WARM_UP_MS);
      await count();
      for (let number = 1; left > 0 && court.first === undefined; number++) {
        left--;
        if (number % CENSUS_EVERY === 1) streams.start(own.fork(`streams ${number}`), STREAMS_AT_ONCE);
        const kill = own.fork(`kill ${number}`);
        await sleep(kill.magnitude(30, 1_000));
        const { victim, deed, drains, from, until } = await perform(pair, impacts, kill);
        const how = `${victim} ${deed}${drains ? ", drained" : ""}`;
        tally.fault(how);
        const ms = Math.round(until! - from);
        appendFileSync(
          join(dir, "kills.log"),
          `${court.seconds.toFixed(1)} s: pair ${pair.index + 1}: ${how}: ${ms} ms\n`,
        );
        if (number % CENSUS_EVERY === 0) await count();
      }
      await count();
      await ending(pair);
    };
    const timer = setInterval(() => {
      const pids = pairs.flatMap(({ daemons }) => daemons.map(({ pid }) => pid));
      const stage = `${options.kills! - left} of ${options.kills} kills`;
      observer.progress({ stage, court, tally, worstGapMs: watchdog.worstGapMs, pids });
    }, PROGRESS_EVERY_MS);
    scope.defer(() => clearInterval(timer));
    const failed = (reason: unknown) => court.violation(reason instanceof Error ? reason.message : String(reason));
    await Promise.race([Promise.all(pairs.map(play)).catch(failed), court.violated]);
    if (court.first) {
      const processes = { servers: pairs.map(({ server }) => server), agents: pairs.map(({ agent }) => agent) };
      await keepEvidence(dir, processes, watchdog);
    }
    return {
      violation: court.first,
      seconds: court.seconds,
      tally,
      outcomes,
      warnings: lines.warnings,
      worstGapSeconds: watchdog.worstGapMs / 1000,
      withGo: frontends.kinds.includes("grpc-go"),
      pairs: pairs.map(({ mortal, index, daemons }) => ({
        mortal,
        census: census[index]!,
        starts: daemons.map(({ starts }) => starts),
      })),
    };
  } finally {
    await scope.close();
  }
}
