/** Whether the pools are still ours: asked whenever this replica comes to lead, for HyperShift may have been installed meanwhile. */
import { messageOf } from "../../../base/errors/error.js";
import { type Clock, pause, systemClock } from "../../kube/clock.js";

export interface OwnershipOptions {
  /** Rejects while they are not, or while nobody can tell. */
  readonly check: () => Promise<void>;
  readonly leading: () => boolean;
  readonly onOurs: () => void;
  readonly onError: (sentence: string) => void;
  readonly clock?: Clock;
}

const AGAIN_MS = 5000;

export class Ownership {
  readonly #options: OwnershipOptions;
  readonly #clock: Clock;
  readonly #stopped = new AbortController();
  #asking: Promise<void> | undefined;
  #isOurs = false;

  constructor(options: OwnershipOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  get isOurs(): boolean {
    return this.#isOurs;
  }

  /** Asks until the answer is yes, or somebody else leads. Returns at once. */
  ask(): void {
    this.#isOurs = false;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#asking;
  }

  async #ask(): Promise<void> {
    const { check, leading, onError, onOurs } = this.#options;
    const { signal } = this.#stopped;
    while (leading() && !signal.aborted) {
      try {
        await check();
        this.#isOurs = true;
        return onOurs();
      } catch (reason) {
        onError(messageOf(reason));
      }
      await pause(this.#clock, AGAIN_MS, signal);
    }
  }
}
