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
  readonly counts = new Map<Outcome | typeof FORGOTTEN, Map<string, number>>();

  add(outcome: Outcome | typeof FORGOTTEN, frontend: string): void {
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
    const forgotten = new Forgotten(job);
    try {
      await converse(job, plan);
    } catch (reason) {
      if (!(reason instanceof Broken))
        court.violation(`${reason instanceof Error ? reason.message : String(reason)}: ${job.describe()}`);
      else if (reason.stage === "dial") {
        this.#judgeDial(job, reason);
        await bothOver(job, { up: 0, down: 0 });
        forgotten.close();
        job.close();
        await sleep(AFTER_FAILED_DIAL_MS);
        return;
      }
    }
    await bothOver(job, plan);
    forgotten.close();
    if (forgotten.left) this.#outcomes.add(FORGOTTEN, frontend);
    else this.#judge(job, plan);
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
      caller: seen(caller, plan.down, plan.up),
      endpoint: seen(endpoint, plan.up, plan.down),
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

const FORGOTTEN = "an end behind the dial's answer, of which upstream's client takes no notice";
const FORGOTTEN_AFTER_MS = 5_000;
const LOOK_MS = 500;

/**
 * Upstream's client takes no notice of an end that comes right behind the answer to its dial (`Connection not recognized` in
 * its `serve`), and its caller would wait for ever. That caller leaves after a while.
 */
class Forgotten {
  left = false;
  readonly #timer: NodeJS.Timeout | undefined;
  #since: number | undefined;

  constructor(job: Job) {
    if (job.frontend === "grpc-go") this.#timer = setInterval(() => this.#look(job.ends), LOOK_MS);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look({ caller, endpoint }: Job["ends"]): void {
    if (caller === undefined || caller.over || caller.received > 0 || endpoint?.over !== true) this.#since = undefined;
    else this.#since ??= performance.now();
    if (this.#since === undefined || performance.now() - this.#since < FORGOTTEN_AFTER_MS) return;
    this.left = true;
    caller?.leave();
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
async function bothOver(job: Job, { up, down }: Pick<Plan, "up" | "down">): Promise<void> {
  const { caller, endpoint } = job.ends;
  await Promise.all([over(caller, down, up), over(endpoint, up, down)]);
}

/** One that has everything and has sent everything closes, as it would have done; what it hears then counts, too. */
async function over(end: End | undefined, expected: number, toSend: number): Promise<void> {
  if (end === undefined) return;
  end.readOn();
  const isDone = () => end.ended && end.received === expected && end.sent >= toSend;
  // One that TLS has told of the cut knows enough; Node tells it no more of a connection that it has stopped to read.
  const isTold = () => end.ended && (end.truncated || end.received < expected);
  await end.untilEither(() => end.gone || isDone() || isTold());
  if (end.gone || isTold()) return;
  end.finish();
  await end.untilGone();
}

function seen(end: End | undefined, expected: number, toSend: number): EndState {
  if (end === undefined) return "error";
  const { received, sent, ended, truncated, failure } = end;
  return stateOf({ received, expected, sentAll: sent >= toSend, ended, truncated, failed: failure !== "" });
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
