/** Everything that is wrong, told at once: nobody wants to mend a file fault by fault. */
import { DrawbridgeError } from "../../../base/errors/error.js";

export class Faults {
  readonly #sentences: string[] = [];

  /** `what` is wrong; `remedy` says what to do. */
  add(what: string, remedy: string): void {
    this.#sentences.push(`${what} (${remedy})`);
  }

  throwIfAny(source: string): void {
    if (this.#sentences.length === 0) return;
    throw new DrawbridgeError("DB_HOSTED_CONFIG", `${source} cannot be used: ${this.#sentences.join("; ")}.`);
  }
}
