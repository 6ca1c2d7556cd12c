/** What must never happen, happened. The first one ends the run. */
export interface Violation {
  /** Seconds since the run began. */
  readonly seconds: number;
  readonly what: string;
}

export class Court {
  readonly #began = performance.now();
  #first: Violation | undefined;
  #tell: (violation: Violation) => void = () => {};
  /** Resolves at the first violation, if there is one. */
  readonly violated = new Promise<Violation>((resolve) => {
    this.#tell = resolve;
  });

  get seconds(): number {
    return (performance.now() - this.#began) / 1000;
  }

  get first(): Violation | undefined {
    return this.#first;
  }

  /** Whatever comes after the first is most likely its consequence. */
  violation(what: string): void {
    if (this.#first) return;
    this.#first = { seconds: this.seconds, what };
    this.#tell(this.#first);
  }
}
