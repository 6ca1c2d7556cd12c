const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Ctrl-C and its relatives, and an audience that left (a closed pipe): the story ends early and in good order. */
export class Interruption {
  exitCode = 0;
  readonly #signal: Promise<never>;

  constructor() {
    this.#signal = new Promise((_, reject) => {
      const interrupt = (code: number) => {
        // Only the first counts: the terminal and the outer half may both pass one on.
        if (this.happened) return;
        this.exitCode = code;
        reject(new Error("interrupted"));
      };
      for (const [signal, code] of Object.entries(EXIT_CODES)) process.on(signal, () => interrupt(code));
      for (const stream of [process.stdout, process.stderr]) stream.on("error", () => interrupt(EXIT_CODES.SIGHUP));
    });
    this.#signal.catch(() => {});
  }

  get happened(): boolean {
    return this.exitCode !== 0;
  }

  race<T>(story: Promise<T>): Promise<T> {
    return Promise.race([story, this.#signal]);
  }
}
