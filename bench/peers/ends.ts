import { readFileSync } from "node:fs";
import { waitUntil } from "../../test/support/processes/deadline.js";
import { asLastResort } from "../../test/support/processes/last-resort.js";
import { type ProcessOptions, type RunningProcess, startProcess } from "../../test/support/processes/process.js";
import type { Route } from "../load/drive.js";
import { untilServed } from "./probe.js";

const SERVED_WITHIN_MS = 30_000;

/** A running tunnel: a process beside the caller, a process beside the target, and what these have started. */
export class Ends {
  readonly route: Route;
  readonly #near: RunningProcess | undefined;
  readonly #farOptions: ProcessOptions | undefined;
  #far: RunningProcess | undefined;
  #forget = () => {};

  private constructor(route: Route, near?: RunningProcess, far?: ProcessOptions) {
    this.route = route;
    this.#near = near;
    this.#farOptions = far;
  }

  /** The near end runs and listens; the far one is started here. Resolves when the tunnel serves, and closes both if not. */
  static async start(route: Route, near: RunningProcess, far: ProcessOptions): Promise<Ends> {
    const ends = new Ends(route, near, far);
    try {
      ends.startFar();
      await ends.untilServed();
      return ends;
    } catch (reason) {
      await ends.close();
      throw reason;
    }
  }

  /** No tunnel at all. */
  static none(route: Route): Ends {
    return new Ends(route);
  }

  get hasProcesses(): boolean {
    return this.#near !== undefined;
  }

  /** All processes of both ends. */
  get pids(): number[] {
    return [this.#near, this.#far].flatMap((process) => (process?.running ? family(process.pid) : []));
  }

  /** Ends the far end as a crash or a power failure would. */
  async killFar(): Promise<void> {
    if (this.#far) await kill(this.#far);
  }

  startFar(): void {
    if (!this.#farOptions) throw new Error("there is no far end");
    this.#far = startProcess(this.#farOptions);
  }

  async untilServed(): Promise<void> {
    const far = this.#far!;
    await far.untilReady("a new tunnel was served", () =>
      untilServed(this.route, SERVED_WITHIN_MS).catch((reason: Error) => {
        throw new Error(`${reason.message}\n${this.#near?.log.tail(5)}\n${far.log.tail(5)}`);
      }),
    );
    this.#forget();
    const started = this.pids;
    this.#forget = asLastResort(() => killAll(started));
  }

  async close(): Promise<void> {
    for (const process of [this.#far, this.#near]) if (process) await kill(process);
    this.#forget();
  }
}

/** A process and its descendants: workers go on without the one that started them. */
async function kill(process: RunningProcess): Promise<void> {
  const pids = process.running ? family(process.pid) : [];
  await process.close();
  killAll(pids);
  await waitUntil(`${process.name} to be gone`, () => !pids.some(exists));
}

function killAll(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
}

function exists(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

export function family(pid: number): number[] {
  let children: string;
  try {
    children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  } catch {
    return [];
  }
  return [pid, ...children.split(" ").filter(Boolean).map(Number).flatMap(family)];
}
