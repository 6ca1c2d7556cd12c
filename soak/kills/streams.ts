import { Broken } from "../load/broken.js";
import { BulkBudget } from "../load/budget.js";
import { type End, sleep } from "../load/end.js";
import type { JobGround } from "../load/ground.js";
import { Job } from "../load/job.js";
import { carry } from "../load/scenarios/bulk.js";
import { KIB, MIB } from "../load/scenarios/scenario.js";
import type { Random } from "../random.js";
import { type EndState, type Outcome, outcomeOf, stateOf } from "./outcome.js";
import type { Pair } from "./pair.js";

const AFTER_FAILED_DIAL_MS = 60;

/** What a stream carries. */
interface Plan {
  readonly kind: "upload" | "download" | "both";
  readonly up: number;
  readonly down: number;
  readonly firstToEnd: "caller" | "endpoint";
}

/** How often each outcome was, by frontend. */
export class Outcomes {
  readonly counts = new Map<Outcome, Map<string, number>>();

  add(outcome: Outcome, frontend: string): void {
    const row = this.counts.get(outcome) ?? new Map<string, number>();
    this.counts.set(outcome, row.set(frontend, (row.get(frontend) ?? 0) + 1));
  }
}

/** Streams through one pair, so many at a time, each judged at both ends when it is over. */
export class Streams {
  readonly #pair: Pair;
  readonly #ground: JobGround;
  readonly #outcomes: Outcomes;
  readonly #budget: BulkBudget;
  #workers: Promise<void>[] = [];
  #stopped = true;

  constructor(pair: Pair, ground: JobGround, outcomes: Outcomes, bytesPerSecond: number) {
    this.#pair = pair;
    this.#ground = ground;
    this.#outcomes = outcomes;
    this.#budget = new BulkBudget(bytesPerSecond);
  }

  start(random: Random, atOnce: number): void {
    this.#stopped = false;
    this.#workers = Array.from({ length: atOnce }, (_, worker) => this.#repeat(random.fork(worker)));
  }

  /** What is under way is finished first. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#workers);
  }

  async #repeat(random: Random): Promise<void> {
    for (let turn = 0; !this.#stopped; turn++) {
      const own = random.fork(turn);
      const plan = planOf(own);
      if (!(await this.#budget.take(plan.up + plan.down, () => this.#stopped))) return;
      await this.#run(plan, own);
    }
  }

  async #run(plan: Plan, random: Random): Promise<void> {
    const { tally, court } = this.#ground;
    const frontend = random.pick(this.#ground.fixture.frontends.kinds);
    const job = new Job(this.#ground, plan.kind, { server: this.#pair.index, frontend }, random);
    tally.job(plan.kind);
    try {
      await converse(job, plan);
    } catch (reason) {
      if (!(reason instanceof Broken))
        court.violation(`${reason instanceof Error ? reason.message : String(reason)}: ${job.describe()}`);
      else if (reason.stage === "dial") {
        this.#judgeDial(job, reason);
        await bothOver(job);
        job.close();
        await sleep(AFTER_FAILED_DIAL_MS);
        return;
      }
    }
    await bothOver(job);
    this.#judge(job, plan);
    job.close();
  }

  #judgeDial(job: Job, { message }: Broken): void {
    this.#ground.tally.failedDials++;
    const kills = this.#pair.killsBetween(job.startedAt, performance.now());
    if (kills.some(({ deed }) => deed !== "frozen")) return;
    this.#ground.court.violation(`a dial failed although nothing was killed: ${message}: ${job.describe()}`);
  }

  #judge(job: Job, plan: Plan): void {
    const { tally, court } = this.#ground;
    const { caller, endpoint } = job.ends;
    const judged = outcomeOf({
      frontend: job.frontend,
      caller: seen(caller, plan.down),
      endpoint: seen(endpoint, plan.up),
      kills: this.#pair.killsBetween(job.startedAt, performance.now()),
      pauses: plan.kind === "both" || (plan.kind === "download" && !halfCloses(job)),
    });
    if ("wrong" in judged) {
      const kills = this.#pair.killsBetween(job.startedAt, performance.now());
      const why = kills
        .map(({ victim, deed, drains }) => `${victim} ${deed}${drains ? " with a drain" : ""}`)
        .join(", ");
      const should = `${plan.up} bytes up and ${plan.down} down`;
      court.violation(`${judged.wrong} (${why || "no kill"}): ${should}: ${job.describe()}`);
      return;
    }
    if (judged.outcome === "whole at both ends") tally.completed++;
    else tally.interrupted++;
    this.#outcomes.add(judged.outcome, job.frontend);
  }
}

/** gRPC closes both directions at once. */
const halfCloses = ({ frontend }: Job): boolean => frontend === "connect" || frontend === "connect-tls";

/** Throws Broken when it is cut. */
async function converse(job: Job, plan: Plan): Promise<void> {
  const { caller, endpoint } = await job.open();
  const { random } = job;
  if (plan.kind === "both") {
    await Promise.all([carry(caller, endpoint, plan.up, pause(random, plan.up)), carry(endpoint, caller, plan.down)]);
  } else {
    await carry(caller, endpoint, plan.up, pause(random, plan.up));
    if (halfCloses(job) && plan.kind === "download") {
      caller.finish();
      await endpoint.untilFinished();
    }
    await carry(endpoint, caller, plan.down, pause(random, plan.down));
  }
  const [first, second] = plan.firstToEnd === "caller" ? [caller, endpoint] : [endpoint, caller];
  first.finish();
  await second.untilFinished();
  second.finish();
  await first.untilEnded();
}

/** A cut is told to both ends by those that carried the stream, without either end's help. */
async function bothOver(job: Job): Promise<void> {
  for (const end of [job.ends.caller, job.ends.endpoint]) {
    end?.readOn();
    await end?.untilEnded().catch(() => undefined);
  }
}

function seen(end: End | undefined, expected: number): EndState {
  if (end === undefined) return "error";
  const { received, ended, truncated, failure } = end;
  return stateOf({ received, expected, ended, truncated, failed: failure !== "" });
}

function planOf(random: Random): Plan {
  const kind = random.weighted([
    [4, "upload"],
    [4, "download"],
    [2, "both"],
  ] as const);
  const much = () => random.magnitude(1 * KIB, 6 * MIB);
  const little = () => random.magnitude(16, 2 * KIB);
  const firstToEnd = random.pick(["caller", "endpoint"] as const);
  if (kind === "upload") return { kind, up: much(), down: little(), firstToEnd };
  if (kind === "download") return { kind, up: little(), down: much(), firstToEnd };
  return { kind, up: much(), down: much(), firstToEnd };
}

/** Some readers stop in the middle, so that a kill meets full buffers. */
function pause(random: Random, bytes: number): { readonly after: number; readonly ms: number }[] {
  return random.chance(0.4) ? [{ after: random.whole(0, bytes - 1), ms: random.between(50, 1_500) }] : [];
}
