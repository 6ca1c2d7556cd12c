import type { Readable } from "node:stream";

/** A listener to the webhook's numbered lines: nothing may be lost, doubled or late for long. */
export class Ticks {
  static readonly EVERY_MS = 100;
  count = 0;
  longestPauseMs = 0;
  #rest = "";
  #lastAt = performance.now();
  #problem = "";

  constructor(stream: Readable) {
    stream.on("data", (chunk: Buffer) => this.#hear(chunk.toString("utf8")));
    stream.once("error", (reason) => this.#complain(`it failed: ${reason.message}`));
    stream.once("close", () => this.#complain("it ended"));
  }

  /** Throws when the stream did not come through unharmed. */
  check(): void {
    if (this.#problem !== "") throw new Error(`the stream was harmed after ${this.count} ticks: ${this.#problem}`);
  }

  #hear(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop()!;
    for (const line of lines) {
      this.count++;
      if (Number(line) !== this.count) this.#complain(`tick ${line} came where ${this.count} was due`);
    }
    const now = performance.now();
    this.longestPauseMs = Math.max(this.longestPauseMs, now - this.#lastAt);
    this.#lastAt = now;
  }

  #complain(problem: string): void {
    this.#problem ||= problem;
  }
}
