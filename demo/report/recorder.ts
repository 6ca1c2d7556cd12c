import { messageOf } from "../../src/base/errors/error.js";
import { within } from "../../test/support/processes/deadline.js";
import type { Paint } from "./paint.js";
import type { Show } from "./show.js";

export interface StepRecord {
  readonly step: string;
  readonly title: string;
  result: "passed" | "failed" | "not run";
  seconds: number;
  shown: string;
  figures?: Readonly<Record<string, number | string>>;
}

const INDENT = " ".repeat(8);

/** Plays steps one after the other, tells about each as it goes, and keeps what came of it. */
export class Recorder<StepName extends string> {
  readonly records: StepRecord[];
  readonly #write: (text: string) => void;
  readonly #paint: Paint;
  readonly #mishap: Promise<never>;

  /** `titles`: the steps in order. `mishap` rejects when something happens that no step can survive. */
  constructor(
    titles: Readonly<Record<StepName, string>>,
    write: (text: string) => void,
    paint: Paint,
    mishap: Promise<never>,
  ) {
    this.records = Object.entries<string>(titles).map(([step, title]) => ({
      ...{ step, title, result: "not run", seconds: 0, shown: "" },
    }));
    this.#write = write;
    this.#paint = paint;
    this.#mishap = mishap;
  }

  /** A step that fails ends the story: the error is thrown on. */
  async step<T>(name: StepName, limitSeconds: number, play: (show: Show) => Promise<T>): Promise<T> {
    const record = this.records.find(({ step }) => step === name)!;
    const number = this.records.indexOf(record) + 1;
    this.#write(this.#paint("bold", `[${String(number).padStart(2)}/${this.records.length}] ${record.title}`));
    const begin = performance.now();
    try {
      const value = await within(
        limitSeconds * 1000,
        record.title,
        Promise.race([play(this.#show(record)), this.#mishap]),
      );
      this.#finish(record, begin, "passed");
      return value;
    } catch (reason) {
      record.shown = messageOf(reason);
      this.#finish(record, begin, "failed");
      throw reason;
    }
  }

  #show(record: StepRecord): Show {
    return {
      note: (line) => this.#write(`${INDENT}${this.#paint("dim", line)}`),
      result: (line) => {
        record.shown = line;
      },
      figures: (figures) => {
        record.figures = figures;
      },
    };
  }

  #finish(record: StepRecord, begin: number, result: "passed" | "failed"): void {
    record.result = result;
    record.seconds = (performance.now() - begin) / 1000;
    const word = result === "passed" ? this.#paint("green", "passed") : this.#paint("red", "FAILED");
    for (const line of record.shown.split("\n")) this.#write(`${INDENT}${line}`);
    this.#write(`${INDENT}${word} in ${record.seconds.toFixed(1)} s`);
  }
}
