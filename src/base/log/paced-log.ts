/** Log lines that somebody else can make us write at any rate: each kind has its own limit, and none is lost uncounted. */
import type { Fields, Logger } from "./log.js";
import { Pace } from "./pace.js";

/** After the first hundred of a kind, twenty lines a second say as much. */
const BURST = 100;
const LINES_PER_SECOND = 20;
/** What was left out is said at the latest after this time, also when nothing else happens. */
const COUNT_AFTER_MS = 10_000;

export interface LogTiming {
  now(): number;
  /** Calls back once; the answer takes it back. */
  after(ms: number, action: () => void): () => void;
}

const systemTiming: LogTiming = {
  now: () => performance.now(),
  after(ms, action) {
    const timer = setTimeout(action, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

type Write = (message: string, fields: Fields) => void;

interface Kind {
  readonly pace: Pace;
  cancelCount: (() => void) | undefined;
}

export class PacedLog {
  readonly #logger: Logger;
  readonly #timing: LogTiming;
  readonly #kinds = new Map<string, Kind>();
  readonly #warn: Write;
  readonly #error: Write;

  constructor(logger: Logger, timing: LogTiming = systemTiming) {
    this.#logger = logger;
    this.#timing = timing;
    this.#warn = (message, fields) => logger.warn(message, fields);
    this.#error = (message, fields) => logger.error(message, fields);
  }

  /** `kind` is for messages that are not always the same: there must be few kinds. */
  info(level: number, message: string, fields: Fields, kind = message): void {
    if (level > this.#logger.verbosity) return;
    this.#line((text, more) => this.#logger.info(level, text, more), message, fields, kind);
  }

  warn(message: string, fields: Fields, kind = message): void {
    this.#line(this.#warn, message, fields, kind);
  }

  error(message: string, fields: Fields, kind = message): void {
    this.#line(this.#error, message, fields, kind);
  }

  close(): void {
    for (const { cancelCount } of this.#kinds.values()) cancelCount?.();
    this.#kinds.clear();
  }

  #line(write: Write, message: string, fields: Fields, name: string): void {
    const kind = this.#kind(name);
    if (kind.pace.take()) {
      const leftOut = kind.pace.takeHeldBack();
      write(message, leftOut > 0 ? { ...fields, similarLinesLeftOut: leftOut } : fields);
    } else {
      kind.cancelCount ??= this.#timing.after(COUNT_AFTER_MS, () => {
        kind.cancelCount = undefined;
        const count = kind.pace.takeHeldBack();
        if (count > 0) write("lines were left out because they were too many", { like: name, count });
      });
    }
  }

  #kind(name: string): Kind {
    let kind = this.#kinds.get(name);
    if (kind === undefined) {
      const pace = new Pace(BURST, LINES_PER_SECOND, () => this.#timing.now());
      kind = { pace, cancelCount: undefined };
      this.#kinds.set(name, kind);
    }
    return kind;
  }
}
