/** Whether the tunnel is believed to work. While it is not, one caller at a time may find out, at most every so often. */
export interface FallbackStateOptions {
  readonly retryMs: number;
  readonly now: () => number;
  readonly onChange?: (active: boolean, why: string) => void;
}

export class FallbackState {
  readonly #options: FallbackStateOptions;
  #active = false;
  #retrying = false;
  #lastRetry: number | undefined;

  constructor(options: FallbackStateOptions) {
    this.#options = options;
  }

  /** Connections go straight from here for now. */
  get active(): boolean {
    return this.#active;
  }

  /**
   * Asks whether the tunnel may be used to find a name. Undefined: no, it was found broken a short while ago or somebody
   * else is trying it. Otherwise what is to be called when the attempt is over, however it ended.
   */
  begin(): (() => void) | undefined {
    if (!this.#active) return () => {};
    const now = this.#options.now();
    const soon = this.#lastRetry !== undefined && now - this.#lastRetry < this.#options.retryMs;
    if (this.#retrying || soon) return undefined;
    this.#retrying = true;
    this.#lastRetry = now;
    return () => {
      this.#retrying = false;
    };
  }

  markSuccess(): void {
    if (!this.#active) return;
    this.#active = false;
    this.#lastRetry = undefined;
    this.#options.onChange?.(false, "the tunnel answers again");
  }

  markFailure(why: string): void {
    this.#lastRetry ??= this.#options.now();
    if (this.#active) return;
    this.#active = true;
    this.#options.onChange?.(true, why);
  }
}
