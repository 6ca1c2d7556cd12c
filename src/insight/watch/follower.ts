/** Keeps the view of a process up to date from its event stream, across restarts of the process. */
import { pause, systemClock } from "../../base/clock.js";
import type { AdminPort } from "./admin-port.js";
import { FollowedProcess } from "./view/process-view.js";

const RETRY_MS = 1000;

export class Follower extends FollowedProcess {
  /** Why there is nothing new at present. */
  problem = "";
  readonly #port: AdminPort;

  constructor(port: AdminPort) {
    super();
    this.#port = port;
  }

  /** Follows until `stop` is aborted; after a failure, which `problem` describes, it tries again. */
  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      try {
        await this.#port.follow(({ name, data }) => this.take(name, data), stop);
        if (!stop.aborted) this.problem = `${this.#port.address} hung up`;
      } catch (error) {
        this.problem = (error as Error).message;
      }
      await pause(systemClock, RETRY_MS, stop);
    }
  }

  override take(name: string, data: string): void {
    super.take(name, data);
    this.problem = "";
  }

  /** Not while nothing is received: the rate would be zero first, and all of it one second's work afterwards. */
  override sample(now: number): void {
    if (this.problem === "") super.sample(now);
  }
}
