import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream, type WriteStream } from "node:fs";
import { createInterface } from "node:readline";
import { within } from "../../test/support/processes/deadline.js";
import { asLastResort } from "../../test/support/processes/last-resort.js";
import type { Exit } from "../../test/support/processes/process.js";

export interface DaemonOptions {
  readonly name: string;
  readonly command: string;
  readonly logFile: string;
  readonly onLine: (line: string) => void;
  /** It ended and nobody had asked it to. */
  readonly onUnexpectedExit: (exit: Exit) => void;
}

const STOP_WITHIN_MS = 10_000;

/** A program that is started, ended and started again; its log goes on in one file. */
export class Daemon {
  readonly name: string;
  readonly #options: DaemonOptions;
  readonly #log: WriteStream;
  #child: ChildProcess | undefined;
  #exited: Promise<Exit> = Promise.resolve({ code: 0, signal: null });
  #running = false;
  #mayExit = false;
  starts = 0;

  constructor(options: DaemonOptions) {
    this.name = options.name;
    this.#options = options;
    this.#log = createWriteStream(options.logFile, { flags: "a" });
  }

  get running(): boolean {
    return this.#running;
  }

  get pid(): number {
    return this.#child?.pid ?? -1;
  }

  get exited(): Promise<Exit> {
    return this.#exited;
  }

  start(args: readonly string[]): void {
    if (this.#running) throw new Error(`${this.name} runs already`);
    const child = spawn(this.#options.command, args, { stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    this.#running = true;
    this.#mayExit = false;
    this.starts++;
    const forget = asLastResort(() => child.kill("SIGKILL"));
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        this.#log.write(`${line}\n`);
        this.#options.onLine(line);
      });
    }
    this.#exited = new Promise((resolve) => {
      const ended = (exit: Exit) => {
        if (this.#child === child) this.#running = false;
        forget();
        this.#log.write(`---- ended: ${exit.signal ?? `exit code ${exit.code}`}\n`);
        resolve(exit);
        if (!this.#mayExit) this.#options.onUnexpectedExit(exit);
      };
      child.once("error", () => ended({ code: -1, signal: null }));
      child.once("exit", (code, signal) => ended({ code, signal }));
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** From now on its end is no surprise. */
  allowExit(): void {
    this.#mayExit = true;
  }

  /** Sends the signal and waits for the end. */
  async stop(signal: NodeJS.Signals): Promise<Exit> {
    this.allowExit();
    this.signal(signal);
    return await within(STOP_WITHIN_MS, `${this.name} to end after ${signal}`, this.#exited);
  }

  async close(): Promise<void> {
    if (this.#running) {
      // A stopped process does not die of anything else.
      await this.stop("SIGKILL");
    }
    await new Promise<void>((resolve) => this.#log.end(resolve));
  }
}
