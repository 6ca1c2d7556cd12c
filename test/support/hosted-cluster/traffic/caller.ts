import { plainText } from "../../../../src/base/text.js";
import type { Call, Line } from "./calls.js";

/** What came of a call. */
export type Result = Pick<Call, "said" | "by" | "node">;

export interface CallerOptions {
  readonly kind: string;
  readonly perSecond: number;
  /** Open at once; one more is not begun, and counts as failed. */
  readonly atMost: number;
  /** Must end by itself, in time. */
  call(): Promise<Result>;
}

const LONGEST_WORDS = 400;

/** Begins calls at a steady rate, whatever becomes of those before. */
export class Caller {
  readonly #options: CallerOptions;
  readonly #write: (line: Line) => void;
  readonly #open = new Set<{ readonly at: number }>();
  readonly #timer: NodeJS.Timeout;
  readonly #began = performance.now();
  #due = 0;

  constructor(options: CallerOptions, write: (line: Line) => void) {
    this.#options = options;
    this.#write = write;
    this.#timer = setInterval(() => this.#catchUp(), Math.min(20, 1000 / options.perSecond));
  }

  get source(): string {
    return this.#options.kind;
  }

  /** When the oldest open call began. */
  get oldest(): number | undefined {
    // A set keeps the order in which its members came.
    return this.#open.values().next().value?.at;
  }

  /** No further calls; those that are open end. */
  end(): void {
    clearInterval(this.#timer);
  }

  #catchUp(): void {
    const due = Math.floor(((performance.now() - this.#began) / 1000) * this.#options.perSecond);
    // After a pause of this process the missed ones are not made up for: that would be a burst.
    this.#due = Math.max(this.#due, due - 5);
    for (; this.#due < due; this.#due++) void this.#begin();
  }

  async #begin(): Promise<void> {
    const { kind, atMost, call } = this.#options;
    const began = performance.now();
    const at = Date.now();
    if (this.#open.size >= atMost) {
      this.#write({ kind, at, tookMs: 0, said: `${atMost} calls are open already` });
      return;
    }
    const member = { at };
    this.#open.add(member);
    const { said, ...result } = await call().catch((reason): Result => ({ said: String(reason) }));
    this.#open.delete(member);
    const words = said === undefined ? {} : { said: plainText(said, LONGEST_WORDS) };
    this.#write({ kind, at, tookMs: Math.round(performance.now() - began), ...words, ...result });
  }
}
