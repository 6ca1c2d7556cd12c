/** Log lines that somebody else can make us write at any rate: each kind has its own limit, and none is lost uncounted. */

import { type Clock, systemClock } from "../clock.js";
import { RateLimit } from "../rate-limit.js";
import type { LogFields, Logger } from "./log.js";

/** After the first hundred of a kind, twenty lines a second say as much. */
const BURST = 100;
const LINES_PER_SECOND = 20;
/** The number of lines left out is logged at the latest after this time, also when nothing else happens. */
const COUNT_AFTER_MS = 10_000;

type Write = (message: string, fields: LogFields) => void;

interface Kind {
  readonly limit: RateLimit;
  leftOut: number;
  cancelCount: (() => void) | undefined;
}

export class PacedLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #kinds = new Map<string, Kind>();

  constructor(logger: Logger, clock: Clock = systemClock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** `kind` is for messages that are not always the same: there must be few kinds. */
  info(level: number, message: string, fields: LogFields, kind = message): void {
    if (level > this.#logger.verbosity) return;
    this.#line((text, more) => this.#logger.info(level, text, more), message, fields, kind);
  }

  warn(message: string, fields: LogFields, kind = message): void {
    this.#line((text, more) => this.#logger.warn(text, more), message, fields, kind);
  }

  error(message: string, fields: LogFields, kind = message): void {
    this.#line((text, more) => this.#logger.error(text, more), message, fields, kind);
  }

  close(): void {
    for (const { cancelCount } of this.#kinds.values()) cancelCount?.();
    this.#kinds.clear();
  }

  #line(write: Write, message: string, fields: LogFields, name: string): void {
    const kind = this.#kind(name);
    if (kind.limit.take()) {
      write(message, kind.leftOut > 0 ? { ...fields, similarLinesLeftOut: kind.leftOut } : fields);
      kind.leftOut = 0;
      return;
    }
    kind.leftOut++;
    kind.cancelCount ??= this.#clock.after(COUNT_AFTER_MS, () => {
      kind.cancelCount = undefined;
      const count = kind.leftOut;
      kind.leftOut = 0;
      if (count > 0) write("lines were left out because they were too many", { like: name, count });
    });
  }

  #kind(name: string): Kind {
    let kind = this.#kinds.get(name);
    if (kind === undefined) {
      const limit = new RateLimit(this.#clock, LINES_PER_SECOND, BURST);
      kind = { limit, leftOut: 0, cancelCount: undefined };
      this.#kinds.set(name, kind);
    }
    return kind;
  }
}
