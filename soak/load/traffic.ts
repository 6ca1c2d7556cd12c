import type { Random } from "../random.js";
import { BulkBudget } from "./budget.js";
import { sleep } from "./end.js";
import type { Runner } from "./runner.js";
import { type BulkSize, bulk } from "./scenarios/bulk.js";
import { hangUpInDial, mumble, refused, unanswered } from "./scenarios/dials.js";
import { halfClose, lastWords } from "./scenarios/half-close.js";
import { cutShort, endpointStops, leftAlone, readerLeaves } from "./scenarios/leaving.js";
import { KIB, MIB, type Scenario } from "./scenarios/scenario.js";
import { short } from "./scenarios/talking.js";

/** What callers and endpoints do to each other, how often, and by which name it is counted. */
const QUICK_MISCHIEF: readonly (readonly [weight: number, name: string, scenario: Scenario])[] = [
  [4, "reader stops and leaves", readerLeaves],
  [4, "endpoint stops and resets", endpointStops],
  [6, "cut short", cutShort],
  [6, "hang-up in mid-dial", hangUpInDial],
  [2, "hang-up in mid-request", mumble],
  [5, "refused endpoint", refused],
];
/** The kinds that take ten seconds and more. */
const SLOW_MISCHIEF: typeof QUICK_MISCHIEF = [
  [2, "caller leaves a stopped endpoint", leftAlone],
  [1, "endpoint that never answers", unanswered],
];

const WORKERS = { bulk: 12, mischief: 4, ends: 3, short: 2 } as const;
/** A server that is down refuses in no time; nobody calls it in a busy loop. */
const AFTER_FAILURE_MS = 150;
const STORM_AT_ONCE = 32;

/** Everything that comes and goes. */
export class Traffic {
  readonly #runner: Runner;
  readonly #budget: BulkBudget;
  readonly #mischiefs: typeof QUICK_MISCHIEF;
  readonly #longestPauseMs: number;
  #workers: Promise<void>[] = [];
  #stopped = true;

  /** In a hurry nothing takes longer than a second or two by its own choice. */
  constructor(runner: Runner, { bytesPerSecond, hurry }: { bytesPerSecond: number; hurry: boolean }) {
    this.#runner = runner;
    this.#budget = new BulkBudget(bytesPerSecond);
    this.#mischiefs = hurry ? QUICK_MISCHIEF : [...QUICK_MISCHIEF, ...SLOW_MISCHIEF];
    this.#longestPauseMs = hurry ? 1_000 : 12_000;
  }

  start(random: Random): void {
    this.#stopped = false;
    const works = {
      bulk: (r: Random) => this.#bulk(r),
      mischief: (r: Random) => this.#mischief(r),
      ends: (r: Random) => this.#ends(r),
      short: (r: Random) => this.#short(r),
    };
    for (const [name, count] of Object.entries(WORKERS)) {
      for (let index = 0; index < count; index++) {
        const work = works[name as keyof typeof works];
        this.#workers.push(this.#repeat(random.fork(`${name} ${index}`), work));
      }
    }
  }

  /** What is under way is finished first. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#workers.splice(0));
  }

  async storm(random: Random, tunnels: number): Promise<void> {
    let left = tunnels;
    const worker = async (own: Random) => {
      while (left-- > 0) await this.#run("short", own.fork(left), short);
    };
    await Promise.all(Array.from({ length: STORM_AT_ONCE }, (_, index) => worker(random.fork(index))));
  }

  async #repeat(random: Random, work: (random: Random) => Promise<void>): Promise<void> {
    for (let turn = 0; !this.#stopped; turn++) await work(random.fork(turn));
  }

  async #run(kind: string, random: Random, scenario: Scenario): Promise<void> {
    const done = await this.#runner.run(kind, this.#runner.choose(random), random, scenario);
    if (!done) await sleep(AFTER_FAILURE_MS);
  }

  async #bulk(random: Random): Promise<void> {
    const size = bulkSize(random);
    if (!(await this.#budget.take(size.up + size.down, () => this.#stopped))) return;
    await this.#run("bulk", random, bulk(size, this.#longestPauseMs));
  }

  async #mischief(random: Random): Promise<void> {
    const [name, scenario] = random.weighted(this.#mischiefs.map(([weight, ...rest]) => [weight, rest] as const));
    this.#runner.ground.tally.fault(name);
    await this.#run(name, random, scenario);
    await sleep(random.between(20, 400));
  }

  async #ends(random: Random): Promise<void> {
    const where = this.#runner.choose(random);
    const kind = where.frontend === "connect" && random.chance(0.6) ? "half-close" : "last words";
    const scenario = kind === "half-close" ? halfClose : lastWords;
    if (!(await this.#runner.run(kind, where, random, scenario))) await sleep(AFTER_FAILURE_MS);
    await sleep(random.between(20, 300));
  }

  async #short(random: Random): Promise<void> {
    await this.#run("short", random, short);
    await sleep(random.between(5, 60));
  }
}

function bulkSize(random: Random): BulkSize {
  const size = () => random.magnitude(64 * KIB, 48 * MIB);
  const way = random.pick(["up", "down", "both"] as const);
  return { up: way === "down" ? 0 : size(), down: way === "up" ? 0 : size() };
}
