import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { within } from "../../test/support/processes/deadline.js";
import { asLastResort } from "../../test/support/processes/last-resort.js";

const LOADER = fileURLToPath(new URL("../../scripts/with-tsx.mjs", import.meta.url));

/** A program of the suite that runs in a process of its own and does what it is asked. */
export class Child {
  readonly name: string;
  readonly pid: number;
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(reason: Error): void }>();
  #asked = 0;

  /** `file` is beside this one. */
  constructor(name: string, file: string) {
    this.name = name;
    this.#process = fork(LOADER, [fileURLToPath(new URL(file, import.meta.url))], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      // Ports that the suite keeps for later are not taken by its children: see test/support/processes/ports.ts.
      env: { ...process.env, VITEST_POOL_ID: "2" },
    });
    this.pid = this.#process.pid ?? -1;
    const forget = asLastResort(() => this.#process.kill("SIGKILL"));
    this.#process.on("message", ({ id, value, error }: { id: number; value?: unknown; error?: string }) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(new Error(`${this.name}: ${error}`));
    });
    this.#process.once("exit", (code, signal) => {
      forget();
      for (const { reject } of this.#waiting.values()) {
        reject(new Error(`${this.name} ended (${signal ?? `exit code ${code}`})`));
      }
      this.#waiting.clear();
    });
  }

  ask<Value>(command: string, argument: unknown, withinMs: number): Promise<Value> {
    const id = ++this.#asked;
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#process.send({ id, command, argument }, (reason) => {
      if (reason) this.#waiting.get(id)?.reject(reason);
    });
    return within(withinMs, `${this.name} to answer ${command}`, answer) as Promise<Value>;
  }

  close(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return Promise.resolve();
    return new Promise((resolve) => {
      this.#process.once("exit", () => resolve());
      this.#process.kill("SIGKILL");
    });
  }
}
