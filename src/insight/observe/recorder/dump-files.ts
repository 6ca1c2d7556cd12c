/** Flight records as files, for when the process may not live to be asked: written at once, few, and for the owner only. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../../base/errors/error.js";
import type { FlightRecord } from "../admin/contract.js";
import { flightText } from "./flight-text.js";

const FILES_KEPT = 10;
const NAME = /^drawbridge-flight-[\w.-]+\.txt$/;

export interface WrittenDump {
  readonly file?: string;
  /** One sentence, when nothing could be written. */
  readonly error?: string;
}

export class DumpFiles {
  readonly #dir: string;
  readonly #wall: () => number;
  #written = 0;

  constructor(dir: string, wall: () => number = Date.now) {
    this.#dir = dir;
    this.#wall = wall;
  }

  /** Synchronous, since a crash leaves no other time; throws nothing, since a dump must not be the crash. */
  write(why: string, flights: readonly FlightRecord[]): WrittenDump {
    try {
      if (!existsSync(this.#dir)) mkdirSync(this.#dir, { mode: 0o700 });
      // The time, and a number for those of one millisecond: names sort by age.
      const stamp = new Date(this.#wall()).toISOString().replaceAll(":", "");
      const number = String(++this.#written).padStart(6, "0");
      const file = join(this.#dir, `drawbridge-flight-${stamp}-${process.pid}-${number}.txt`);
      const text = [why, "", ...flights.map(flightText)].join("\n");
      writeFileSync(file, text, { mode: 0o600, flag: "wx" });
      this.#dropOldest();
      return { file };
    } catch (reason) {
      return { error: messageOf(reason) };
    }
  }

  #dropOldest(): void {
    const names = readdirSync(this.#dir).filter((name) => NAME.test(name));
    for (const name of names.sort().slice(0, -FILES_KEPT)) rmSync(join(this.#dir, name), { force: true });
  }
}
