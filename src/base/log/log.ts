/** The log on stderr: klog's look (`text`) or one JSON object per line (`json`), with klog's verbosity. */

import { fstatSync, write } from "node:fs";
import { plainJson, rounded } from "../plain-json.js";
import { redact, redactField } from "../redact/redact.js";

export type LogFields = Readonly<Record<string, unknown>>;

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
    this.#sink = new LogSink(write, (why, fields) =>
      this.#format(this.#now(), "W", `log lines were dropped because they ${why}`, fields),
    );
  }

  /** Information for those who asked for that much: 0 always, 1 rare events, 4 the default, 5 and up every tunnel. */
  info(level: number, message: string, fields: LogFields = {}): void {
    if (level <= this.verbosity) this.#put("I", message, fields);
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#put("W", message, fields);
  }

  error(message: string, fields: LogFields = {}): void {
    this.#put("E", message, fields);
  }

  /** Waits a moment for the last lines to be written. */
  close(): Promise<void> {
    return this.#sink.drain(DRAIN_MS);
  }

  #put(severity: Severity, message: string, fields: LogFields): void {
    this.#sink.push(this.#format(this.#now(), severity, message, fields));
  }
}

/** klog's letters: information, warning, error. */
export type Severity = "I" | "W" | "E";

export type LineFormat = (
  time: Date,
  severity: Severity,
  message: string,
  fields: Readonly<Record<string, unknown>>,
) => string;

/** No line may be longer: an explanation of a refusal is a few kilobytes at most. */
const MAX_LINE_CHARS = 32 * 1024;

const JSON_LEVELS = { I: "info", W: "warn", E: "error" } as const;

/** `I1115 20:14:03.123000   4711] message key="value"`, as klog prints it but without file names. */
export const formatText: LineFormat = (time, severity, message, fields) => {
  const date = pad(time.getMonth() + 1, 2) + pad(time.getDate(), 2);
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => pad(part, 2)).join(":");
  const header = `${severity}${date} ${clock}.${pad(time.getMilliseconds(), 3)}000 ${String(process.pid).padStart(7)}]`;
  let line = `${header} ${oneLine(redact(message))}`;
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) line += ` ${name}=${textValue(name, value)}`;
  }
  return `${cut(line)}\n`;
};

export const formatJson: LineFormat = (time, severity, message, fields) => {
  const head = { time: time.toISOString(), level: JSON_LEVELS[severity], pid: process.pid, message };
  const line = plainJson({ ...fields, ...head });
  return line.length <= MAX_LINE_CHARS ? `${line}\n` : `${plainJson({ ...head, truncated: cut(line) })}\n`;
};

function textValue(name: string, value: unknown): string {
  if (typeof value === "number") return String(rounded(value));
  if (typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (typeof value === "string") return JSON.stringify(redactField(name, value));
  return plainJson(value);
}

/** Control characters would let a peer forge lines or colour the terminal. */
function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (character) =>
    JSON.stringify(character).slice(1, -1),
  );
}

function cut(line: string): string {
  return line.length <= MAX_LINE_CHARS ? line : `${line.slice(0, MAX_LINE_CHARS)}... (${line.length} characters)`;
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, "0");
}

/** Where lines end up. Calls back when the bytes are gone, or with the error that keeps them and how many it took. */
export type WriteBytes = (bytes: Buffer, done: (error?: Error | null, written?: number) => void) => void;

/** Bytes that may wait while a write is in progress. */
const MAX_WAITING_BYTES = 1 << 20;

/**
 * Lines on their way to a place that may be slow, full or gone: one write at a time, a bound on what waits, the rest
 * dropped and counted. The next lines that can be written say how many are missing, and why.
 */
export class LogSink {
  readonly #write: WriteBytes;
  /** Says that lines were dropped, in the logger's own format. */
  readonly #droppedLine: (why: string, fields: LogFields) => string;
  #waiting: string[] = [];
  #waitingBytes = 0;
  /** Lines for which there was no room. */
  #unread = 0;
  /** Lines whose write failed. */
  #unwritten = 0;
  #failure = "";
  /** The last write ended within a line. */
  #isTorn = false;
  #writing = false;
  #idle: (() => void)[] = [];

  constructor(write: WriteBytes, droppedLine: (why: string, fields: LogFields) => string) {
    this.#write = write;
    this.#droppedLine = droppedLine;
  }

  push(line: string): void {
    const size = Buffer.byteLength(line);
    if (this.#waitingBytes + size > MAX_WAITING_BYTES) {
      this.#unread++;
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += size;
    if (!this.#writing) this.#flush();
  }

  /** Waits until everything is written, at most that long: a stuck reader must not keep a process from ending. */
  drain(withinMs: number): Promise<void> {
    if (!this.#writing) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#idle.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #flush(): void {
    const lines = this.#waiting.length;
    const [unread, unwritten] = [this.#unread, this.#unwritten];
    const head = unwritten === 0 ? "" : this.#aboutUnwritten();
    const tail = unread === 0 ? "" : this.#droppedLine("were not read fast enough", { count: unread });
    const bytes = Buffer.from(head + this.#waiting.join("") + tail);
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#writing = true;
    this.#write(bytes, (error, written = error ? 0 : bytes.length) => {
      this.#writing = false;
      const headWritten = written >= Buffer.byteLength(head);
      const kept = error ? newlines(bytes.subarray(headWritten ? Buffer.byteLength(head) : written, written)) : lines;
      if (headWritten) this.#unwritten -= unwritten;
      if (written > 0) this.#isTorn = bytes[written - 1] !== NEWLINE;
      this.#unwritten += lines - Math.min(kept, lines);
      if (!error) this.#unread -= unread;
      else this.#failure = error.message;
      // After a failure only new lines are a reason to try again.
      if (this.#waiting.length > 0 || (!error && this.#unread > 0)) this.#flush();
      else for (const resolve of this.#idle.splice(0)) resolve();
    });
  }

  /** It begins a line, whatever the last write left. */
  #aboutUnwritten(): string {
    const fields = { count: this.#unwritten, error: this.#failure };
    return (this.#isTorn ? "\n" : "") + this.#droppedLine("could not be written", fields);
  }
}

function newlines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

const NEWLINE = 0x0a;
const STDERR = 2;

/** Writes to standard error without ever keeping this thread waiting, whatever it is connected to. */
export function stderrWriter(): WriteBytes {
  const kind = fstatSync(STDERR);
  return kind.isFIFO() || kind.isSocket() ? writeToStream : writeFromPool;
}

/** Pipes and sockets: Node's own stream does not wait for their readers. */
const writeToStream: WriteBytes = (bytes, done) => {
  if (process.stderr.listenerCount("error") === 0) {
    // A log reader that went away must not end the process.
    process.stderr.on("error", () => {});
  }
  process.stderr.write(bytes, done);
};

/** Files and terminals: there the stream would wait, so the thread pool does. */
const writeFromPool: WriteBytes = (bytes, done) => writeRest(bytes, 0, done);

function writeRest(bytes: Buffer, from: number, done: (error?: Error | null, written?: number) => void): void {
  write(STDERR, bytes, from, bytes.length - from, null, (error, written) => {
    const until = from + (written ?? 0);
    if (error !== null || until >= bytes.length) done(error, until);
    else writeRest(bytes, until, done);
  });
}
