import type { DoorKind } from "../fixture/frontends.js";
import type { Random } from "../random.js";
import type { Verdicts } from "../watch/verdicts.js";
import { Broken } from "./broken.js";
import type { Ground } from "./ground.js";
import { Job } from "./job.js";
import type { Scenario } from "./scenarios/scenario.js";

export interface Where {
  readonly server: number;
  readonly frontend: DoorKind;
}

/** Runs jobs and has judged what broke. */
export class Runner {
  readonly ground: Ground;
  readonly #verdicts: Verdicts;

  constructor(ground: Ground, verdicts: Verdicts) {
    this.ground = ground;
    this.#verdicts = verdicts;
  }

  /** True when it went as it should. */
  async run(kind: string, where: Where, random: Random, scenario: Scenario): Promise<boolean> {
    const { tally, court } = this.ground;
    const job = new Job(this.ground, kind, where, random);
    tally.job(kind);
    try {
      await scenario(job, this.ground);
      tally.completed++;
      return true;
    } catch (reason) {
      if (reason instanceof Broken) {
        this.#verdicts.judge(job, reason);
        if (reason.stage === "tunnel") await job.aftermath();
      } else court.violation(`${reason instanceof Error ? reason.message : String(reason)}: ${job.describe()}`);
      return false;
    } finally {
      job.close();
    }
  }

  /** Servers that run, mostly; somebody always calls one that does not. */
  choose(random: Random): Where {
    const { servers, frontends } = this.ground.fixture;
    const up = servers.filter(({ daemon }) => daemon.running);
    const { index } = random.pick(random.chance(0.03) || up.length === 0 ? servers : up);
    const frontend = random.weighted(frontends.kinds.map((kind) => [kind === "connect" ? 5 : 2, kind] as const));
    return { server: index, frontend };
  }
}
