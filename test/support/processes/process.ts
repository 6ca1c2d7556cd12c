import { type ChildProcess, spawn } from "node:child_process";
import { within } from "./deadline.js";
import { asLastResort } from "./last-resort.js";
import { LogBuffer } from "./log-buffer.js";

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ProcessOptions {
  /** How it is called in failure messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the tester's own environment; undefined removes a name. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

const STOP_WITHIN_MS = 10_000;

/** One real process, its output kept in memory, ended by its own pid. */
export class RunningProcess {
  readonly name: string;
  readonly pid: number;
  readonly log = new LogBuffer();
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  #running = true;

  constructor({ name, command, args, env, cwd }: ProcessOptions) {
    this.name = name;
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.#child = child;
    this.pid = child.pid ?? -1;
    const forget = asLastResort(() => child.kill("SIGKILL"));
    const ended = () => {
      forget();
      this.#running = false;
    };
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (chunk: string) => this.log.append(chunk));
    }
    this.exited = new Promise((resolve) => {
      child.once("error", (reason) => {
        this.log.append(`could not be started: ${reason.message}\n`);
        ended();
        resolve({ code: -1, signal: null });
      });
      child.once("exit", (code, signal) => {
        ended();
        resolve({ code, signal });
      });
    });
  }

  get running(): boolean {
    return this.#running;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Ends it without giving it a chance to clean up, as a crash or the OOM killer would. */
  async kill(): Promise<Exit> {
    this.signal("SIGKILL");
    return within(STOP_WITHIN_MS, `${this.name} to end after SIGKILL`, this.exited);
  }

  /** Sends the signal and waits; a process that ignores it is an error, and is killed. */
  async stop(signal: NodeJS.Signals = "SIGTERM", withinMs = STOP_WITHIN_MS): Promise<Exit> {
    this.signal(signal);
    try {
      return await within(withinMs, `${this.name} to end after ${signal}\n${this.log.tail()}`, this.exited);
    } catch (reason) {
      await this.kill();
      throw reason;
    }
  }

  /** Waits for `ready`, but not for a process that is already gone. */
  async untilReady(what: string, ready: () => Promise<unknown>): Promise<void> {
    const gone = this.exited.then(({ code, signal }) => {
      throw new Error(`${this.name} ended (${signal ?? `exit code ${code}`}) before ${what}\n${this.log.tail()}`);
    });
    await Promise.race([ready(), gone]);
  }

  close(): Promise<void> {
    return this.running ? this.kill().then(() => undefined) : Promise.resolve();
  }
}

export function startProcess(options: ProcessOptions): RunningProcess {
  return new RunningProcess(options);
}
