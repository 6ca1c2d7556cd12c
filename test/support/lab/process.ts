import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import type { Scope } from "./scope.js";
import { until } from "./wait.js";

export interface Launch {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** Network namespace to run in; without it the process runs where the test runs. */
  readonly netns?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Puts a command into a network namespace without touching mounts (`ip netns exec` would hide the cgroups). */
export function inNamespace(netns: string | undefined, command: readonly string[]): string[] {
  return netns === undefined ? [...command] : ["nsenter", `--net=/run/netns/${netns}`, "--", ...command];
}

/** A long-running part of the lab. Its output goes to a file; it dies when the test process dies, however that happens. */
export class LabProcess {
  readonly name: string;
  readonly logFile: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;

  private constructor(name: string, logFile: string, child: ChildProcess) {
    this.name = name;
    this.logFile = logFile;
    this.#child = child;
    this.#exited = new Promise((resolve) => {
      child.once("exit", () => resolve());
      child.once("error", () => resolve());
    });
  }

  static start(scope: Scope, launch: Launch): LabProcess {
    const logFile = scope.file(`${launch.name}.log`);
    const log = openSync(logFile, "a");
    const [program, ...args] = ["setpriv", "--pdeathsig", "KILL", "--", ...inNamespace(launch.netns, launch.command)];
    const child = spawn(program as string, args, {
      stdio: ["ignore", log, log],
      env: { ...process.env, ...launch.env },
    });
    closeSync(log);
    const running = new LabProcess(launch.name, logFile, child);
    scope.defer(() => running.kill());
    return running;
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error(`${this.name} could not be started`);
    return this.#child.pid;
  }

  get alive(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** With its exit code; null when a signal ended it. */
  async ended(): Promise<{ readonly code: number | null }> {
    await this.#exited;
    return { code: this.#child.exitCode };
  }

  log(): string {
    return readFileSync(this.logFile, "utf8");
  }

  /** It runs no more, though everybody who is connected to it believes so; undone by `thaw`. */
  freeze(): void {
    this.#child.kill("SIGSTOP");
  }

  thaw(): void {
    this.#child.kill("SIGCONT");
  }

  /** Asks it to end, and insists after the grace period. */
  async stop(graceMs = 5_000): Promise<void> {
    if (!this.alive) return;
    this.#child.kill("SIGTERM");
    const insist = setTimeout(() => this.#child.kill("SIGKILL"), graceMs);
    await this.#exited;
    clearTimeout(insist);
  }

  async kill(): Promise<void> {
    if (!this.alive) return;
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  /** Waits for a sign of life; an exit in the meantime ends the wait at once, and a failure shows the end of the log. */
  async ready(what: string, deadlineMs: number, probe: () => unknown | Promise<unknown>): Promise<void> {
    let gone = false;
    try {
      await until(`${this.name} (${what})`, deadlineMs, async () => {
        gone = !this.alive;
        return gone || Boolean(await probe());
      });
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${this.#tail()}`, { cause: error });
    }
    if (gone) throw new Error(`${this.name} ended before it was ready (${what})\n${this.#tail()}`);
  }

  #tail(): string {
    return this.log().split("\n").slice(-25).join("\n");
  }
}
