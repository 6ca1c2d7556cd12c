import type { Broken } from "../load/broken.js";
import type { Job } from "../load/job.js";
import type { Court } from "./court.js";
import type { Impacts } from "./impacts.js";
import type { Tally } from "./tally.js";

/** An end may be seen before its cause is (a process that exits by itself, a poll that names the agent). */
const THINK_MS = 3_000;

interface Case {
  readonly job: Job;
  readonly broken: Broken;
}

/** Whether what broke had a fault in its path. */
export class Verdicts {
  readonly #court: Court;
  readonly #impacts: Impacts;
  readonly #tally: Tally;
  readonly #links: readonly number[];
  readonly #open = new Map<Case, NodeJS.Timeout>();

  /** `agents`: how many agents each server can turn to. */
  constructor(court: Court, impacts: Impacts, tally: Tally, agents: number) {
    this.#court = court;
    this.#impacts = impacts;
    this.#tally = tally;
    this.#links = Array.from({ length: agents }, (_, agent) => agent);
  }

  judge(job: Job, broken: Broken): void {
    const opened = { job, broken };
    this.#open.set(
      opened,
      setTimeout(() => this.#decide(opened), THINK_MS),
    );
  }

  /** All that is still open, now. */
  decideAll(): void {
    for (const each of [...this.#open.keys()]) this.#decide(each);
  }

  #decide(each: Case): void {
    clearTimeout(this.#open.get(each));
    this.#open.delete(each);
    const { job, broken } = each;
    if (broken.stage === "dial") this.#tally.failedDials++;
    else this.#tally.interrupted++;
    if (this.#explained(each)) return;
    const what = broken.stage === "dial" ? "a dial failed" : "a tunnel broke";
    this.#court.violation(`${what} without a fault in its path: ${broken.message}: ${job.describe()}`);
  }

  #explained({ job, broken }: Case): boolean {
    const { server } = job;
    const from = job.startedAt;
    if (broken.stage === "tunnel") {
      const path = job.redialled ? { server } : job.path;
      return this.#impacts.touched(path, from, broken.at, job.impatient ? undefined : "break");
    }
    if (job.hopeless) return this.#impacts.touched({ server }, from, broken.at);
    // A dial is tried on a second agent: it may only fail where no agent had a clear path all the time.
    const touched = (agent: number): boolean => this.#impacts.touched({ server, agent }, from, broken.at);
    return job.usesUpAttempts ? this.#links.some(touched) : this.#links.every(touched);
  }
}
