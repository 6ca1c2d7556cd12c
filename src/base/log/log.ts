/** The log on stderr: klog's look (`text`) or one JSON object per line (`json`), with klog's verbosity. */
import { formatJson, formatText, type LineFormat, type Severity } from "./log-format.js";
import { LogSink, type WriteBytes } from "./log-sink.js";
import { stderrWriter } from "./stderr.js";

export type Fields = Readonly<Record<string, unknown>>;

export interface LoggerOptions {
  readonly format: "text" | "json";
  /** klog's --v: information of a higher level is not written. */
  readonly verbosity: number;
  readonly write?: WriteBytes;
  readonly now?: () => Date;
}

const DRAIN_MS = 1_000;

export class Logger {
  readonly verbosity: number;
  readonly #format: LineFormat;
  readonly #now: () => Date;
  readonly #sink: LogSink;

  constructor({ format, verbosity, write = stderrWriter(), now = () => new Date() }: LoggerOptions) {
    this.verbosity = verbosity;
    this.#format = format === "json" ? formatJson : formatText;
    this.#now = now;
    this.#sink = new LogSink(write, (count) =>
      this.#format(this.#now(), "W", "log lines were dropped because they were not read fast enough", { count }),
    );
  }

  /** Information for those who asked for that much: 0 always, 1 rare events, 4 the default, 5 and up every tunnel. */
  info(level: number, message: string, fields: Fields = {}): void {
    if (level <= this.verbosity) this.#put("I", message, fields);
  }

  warn(message: string, fields: Fields = {}): void {
    this.#put("W", message, fields);
  }

  error(message: string, fields: Fields = {}): void {
    this.#put("E", message, fields);
  }

  /** Gives what was logged last a moment to get out. */
  close(): Promise<void> {
    return this.#sink.drain(DRAIN_MS);
  }

  #put(severity: Severity, message: string, fields: Fields): void {
    this.#sink.push(this.#format(this.#now(), severity, message, fields));
  }
}
