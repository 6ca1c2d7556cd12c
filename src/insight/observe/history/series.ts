/** Counts of the last ten minutes in steps of ten seconds. A series costs some kilobytes, whatever it counts. */

export const STEP_MS = 10_000;
export const STEPS = 60;

/** Durations are counted in classes a fifth wide, from a tenth of a millisecond to a minute. */
const CLASSES = 74;
const FIRST_CLASS_MS = 0.1;
const WIDTH = Math.log(1.2);
/** Steps whose durations are counted together. */
const STEPS_TOGETHER = 6;

/** A ring of counts, one for each step; those of steps that are over are cleared when a later one is counted. */
export class Steps {
  readonly #counts = new Uint32Array(STEPS);
  /** The number of the last step that was counted. */
  #last = 0;

  add(step: number, count = 1): void {
    this.#forget(step);
    this.#counts[step % STEPS]! += count;
  }

  /** The last steps up to this one, oldest first. */
  until(step: number): number[] {
    this.#forget(step);
    const found = new Array<number>(STEPS);
    // Hundreds of series are asked for at once.
    for (let at = 0; at < STEPS; at++) found[at] = this.#counts[(step + 1 + at) % STEPS]!;
    return found;
  }

  sum(step: number): number {
    this.#forget(step);
    let sum = 0;
    for (let at = 0; at < STEPS; at++) sum += this.#counts[at]!;
    return sum;
  }

  #forget(step: number): void {
    const cleared = Math.min(STEPS, step - this.#last);
    for (let at = 0; at < cleared; at++) this.#counts[(step - at) % STEPS] = 0;
    if (step > this.#last) this.#last = step;
  }
}

/** How long something took, over about ten minutes. */
export class Durations {
  readonly #minutes: { minute: number; readonly counts: Uint32Array }[] = [];

  add(step: number, ms: number): void {
    const minute = Math.floor(step / STEPS_TOGETHER);
    let newest = this.#minutes.at(-1);
    if (newest?.minute !== minute) {
      const oldest = this.#minutes.length === STEPS / STEPS_TOGETHER ? this.#minutes.shift() : undefined;
      oldest?.counts.fill(0);
      newest = { minute, counts: oldest?.counts ?? new Uint32Array(CLASSES) };
      this.#minutes.push(newest);
    }
    newest.counts[classOf(ms)]!++;
  }

  /** The durations that these shares of all did not exceed, each to a tenth of itself; undefined where nothing was counted. */
  quantiles(step: number, shares: readonly number[]): number[] | undefined {
    const first = Math.floor((step - STEPS) / STEPS_TOGETHER);
    const sums = new Uint32Array(CLASSES);
    for (const { minute, counts } of this.#minutes) {
      if (minute > first) for (let at = 0; at < CLASSES; at++) sums[at]! += counts[at]!;
    }
    const all = sums.reduce((sum, count) => sum + count, 0);
    if (all === 0) return undefined;
    return shares.map((share) => {
      const wanted = Math.max(1, Math.ceil(all * share));
      let counted = 0;
      const at = sums.findIndex((count) => {
        counted += count;
        return counted >= wanted;
      });
      return middleOf(at);
    });
  }
}

function classOf(ms: number): number {
  const at = Math.floor(Math.log(ms / FIRST_CLASS_MS) / WIDTH) + 1;
  return Math.min(CLASSES - 1, Math.max(0, at));
}

function middleOf(at: number): number {
  const ms = FIRST_CLASS_MS * Math.exp((at - 0.5) * WIDTH);
  return Math.round(ms * 100) / 100;
}
