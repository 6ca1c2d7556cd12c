/** Notices that nothing moves any more. What moves costs one assignment, however often it does. */
import type { Clock } from "./clock.js";

/** The timer looks so often in the time that it waits for, and is late by one of these parts at most. */
const LOOKS = 8;

export class IdleTimer {
  /** Set by whoever moves something. */
  moved = false;
  readonly #clock: Clock;
  readonly #lookMs: number;
  readonly #onIdle: () => void;
  #quietLooks = 0;
  #cancelLook: () => void;

  /** `onIdle` is called once, when nothing has moved for `ms`. */
  constructor(clock: Clock, ms: number, onIdle: () => void) {
    this.#clock = clock;
    this.#lookMs = ms / LOOKS;
    this.#onIdle = onIdle;
    this.#cancelLook = clock.after(this.#lookMs, this.#look);
  }

  cancel(): void {
    this.#cancelLook();
  }

  readonly #look = (): void => {
    this.#quietLooks = this.moved ? 0 : this.#quietLooks + 1;
    this.moved = false;
    if (this.#quietLooks < LOOKS) this.#cancelLook = this.#clock.after(this.#lookMs, this.#look);
    else this.#onIdle();
  };
}
