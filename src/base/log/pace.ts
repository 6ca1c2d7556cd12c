/** Lets so many through at once and so many a second after that; counts those it held back. */
export class Pace {
  readonly #burst: number;
  readonly #perSecond: number;
  readonly #nowMs: () => number;
  #tokens: number;
  #filledMs: number;
  #heldBack = 0;

  constructor(burst: number, perSecond: number, nowMs: () => number) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#nowMs = nowMs;
    this.#tokens = burst;
    this.#filledMs = nowMs();
  }

  /** Whether this one may go; if not, it is held back. */
  take(): boolean {
    const now = this.#nowMs();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#filledMs) / 1000) * this.#perSecond);
    this.#filledMs = now;
    if (this.#tokens < 1) {
      this.#heldBack++;
      return false;
    }
    this.#tokens--;
    return true;
  }

  /** How many were held back since this was asked last. */
  takeHeldBack(): number {
    const heldBack = this.#heldBack;
    this.#heldBack = 0;
    return heldBack;
  }
}
