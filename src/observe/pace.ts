/** Lets so many through at once and so many a second after that; tells how many it held back. */
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

  /** Calls `act` with the number held back since the last call, or holds this one back too. */
  try(act: (heldBack: number) => void): void {
    const now = this.#nowMs();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#filledMs) / 1000) * this.#perSecond);
    this.#filledMs = now;
    if (this.#tokens < 1) {
      this.#heldBack++;
      return;
    }
    this.#tokens--;
    const heldBack = this.#heldBack;
    this.#heldBack = 0;
    act(heldBack);
  }
}
