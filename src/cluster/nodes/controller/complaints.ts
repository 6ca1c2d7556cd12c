/** What was complained of last, so that a loop of failures is told once. */
export class Complaints {
  readonly #told = new Map<string, string>();

  /** False for what was said already; an empty sentence means that all is well again. */
  isNews(key: string, sentence: string): boolean {
    if (this.#told.get(key) === sentence) return false;
    if (sentence === "") this.#told.delete(key);
    else this.#told.set(key, sentence);
    return sentence !== "";
  }
}
