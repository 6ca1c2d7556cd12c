/** Where lines end up. Calls back when the bytes are gone, or with the error that keeps them. */
export type WriteBytes = (bytes: Buffer, done: (error?: Error | null) => void) => void;

/** What may wait while a write is on its way. */
const MAX_WAITING_BYTES = 1 << 20;

/** Lines on their way to a place that may be slow: one write at a time, a bound on what waits, the rest dropped and counted. */
export class LogSink {
  readonly #write: WriteBytes;
  /** Says that lines were dropped, in the logger's own format. */
  readonly #droppedLine: (count: number) => string;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #writing = false;
  #idle: (() => void)[] = [];

  constructor(write: WriteBytes, droppedLine: (count: number) => string) {
    this.#write = write;
    this.#droppedLine = droppedLine;
  }

  push(line: string): void {
    const size = Buffer.byteLength(line);
    if (this.#waitingBytes + size > MAX_WAITING_BYTES) {
      this.#dropped++;
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
    if (this.#dropped > 0) {
      this.#waiting.push(this.#droppedLine(this.#dropped));
      this.#dropped = 0;
    }
    const bytes = Buffer.from(this.#waiting.join(""));
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#writing = true;
    // An error means that nobody can read the log any more; there is nowhere left to say so.
    this.#write(bytes, () => {
      this.#writing = false;
      if (this.#waiting.length > 0 || this.#dropped > 0) this.#flush();
      else for (const resolve of this.#idle.splice(0)) resolve();
    });
  }
}
