/** Ends a pass over a pool early; what was found until then is still reported. */
export class Stop extends Error {
  /** Whether time may mend it; otherwise the pass waits for the next change. */
  readonly retry: boolean;

  private constructor(because: string, retry: boolean) {
    super(because);
    this.retry = retry;
  }

  static untilChange(because: string): Stop {
    return new Stop(because, false);
  }

  static andRetry(because: string): Stop {
    return new Stop(because, true);
  }
}
