/** What a process printed, the newest part of it: a chatty process must not fill the tester's memory. */
export class LogBuffer {
  readonly #limit: number;
  readonly #listeners = new Set<() => void>();
  #text = "";

  constructor(limitChars = 1024 * 1024) {
    this.#limit = limitChars;
  }

  append(chunk: string): void {
    this.#text += chunk;
    if (this.#text.length > this.#limit) this.#text = this.#text.slice(-this.#limit / 2);
    for (const listener of this.#listeners) listener();
  }

  get text(): string {
    return this.#text;
  }

  /** The last lines, for failure messages. */
  tail(lines = 25): string {
    return this.#text.split("\n").slice(-lines).join("\n");
  }

  /** Resolves with the first match, in what is already there or in what still comes. */
  waitFor(pattern: RegExp, withinMs: number): Promise<RegExpMatchArray> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const match = this.#text.match(pattern);
        if (!match) return;
        finish();
        resolve(match);
      };
      const timer = setTimeout(() => {
        finish();
        reject(new Error(`not within ${withinMs} ms: a log line like ${pattern}\n${this.tail()}`));
      }, withinMs);
      const finish = () => {
        clearTimeout(timer);
        this.#listeners.delete(look);
      };
      this.#listeners.add(look);
      look();
    });
  }
}
