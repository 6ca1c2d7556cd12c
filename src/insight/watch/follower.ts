/** Keeps the view of a process up to date from its event stream, across restarts of the process. */
import { pause, systemClock } from "../../base/clock.js";
import type { ChangeEvent, SnapshotEvent, TunnelsEvent } from "../observe/admin/contract.js";
import type { AdminPort } from "./admin-port.js";
import type { ServerSentEvent } from "./event-stream.js";
import { History } from "./view/history.js";
import { ProcessView } from "./view/process-view.js";

const RETRY_MS = 1000;

export class Follower {
  view: ProcessView | undefined;
  readonly history = new History();
  /** Why there is nothing new at present. */
  problem = "";
  readonly #port: AdminPort;
  /** Whose totals the history was made of last. */
  #instance = "";

  constructor(port: AdminPort) {
    this.#port = port;
  }

  /** Follows until `stop` is aborted; after a failure, which `problem` describes, it tries again. */
  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      try {
        await this.#port.follow((event) => this.take(event), stop);
        if (!stop.aborted) this.problem = `${this.#port.address} hung up`;
      } catch (error) {
        this.problem = (error as Error).message;
      }
      await pause(systemClock, RETRY_MS, stop);
    }
  }

  take({ name, data }: ServerSentEvent): void {
    if (name === "snapshot") this.view = new ProcessView(JSON.parse(data) as SnapshotEvent, Date.now());
    else if (name === "tunnels") this.view?.add(JSON.parse(data) as TunnelsEvent);
    else if (name === "change") this.view?.apply(JSON.parse(data) as ChangeEvent);
    this.problem = "";
  }

  /**
   * Called once a second: a rate needs two samples. None while nothing is received: the rate would be zero first, and
   * all of it one second's work afterwards.
   */
  sample(now: number): void {
    const { view, problem } = this;
    if (view === undefined || problem !== "") return;
    const { process, totals } = view.facts;
    if (process.instance === this.#instance) this.history.sample(totals, now);
    else this.history.begin(totals, now);
    this.#instance = process.instance;
  }
}
