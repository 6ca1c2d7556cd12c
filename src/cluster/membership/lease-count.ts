import { type Clock, pause, systemClock } from "../../base/clock.js";
import { isLeaseValid, type Lease, leasesPath } from "../kube/lease.js";
import { ListWatch } from "../kube/list-watch.js";
import type { KubeApi } from "../kube/port.js";

export interface LeaseCountOptions {
  /** Tried again until it succeeds. The API is closed when the count is stopped. */
  readonly openApi: () => Promise<KubeApi>;
  readonly namespace: string;
  readonly labelSelector: string;
  readonly clock?: Clock;
  /** One list request: HTTP status (0: no answer), duration, the API's reason for a failure. */
  readonly onListed: (status: number, seconds: number, reason: string) => void;
  /** One watch request, as soon as it was accepted or refused. */
  readonly onWatched: (status: number, reason: string) => void;
  /** Called for every failure; counting continues by itself. */
  readonly onError: (reason: unknown) => void;
}

/** Each server renews its lease every 15 s, so three renewals missed by all of them mean that the watch is dead. */
const SILENCE_MS = 45_000;
const REOPEN_MS = 10_000;

/** Counts the servers by the leases they keep. Begins at once, ends with `stop`. */
export class LeaseCount {
  readonly #options: LeaseCountOptions;
  readonly #clock: Clock;
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;
  #api: KubeApi | undefined;
  #leases: ListWatch<Lease> | undefined;
  /** False while the API does not answer; leases then seem to run out although their holders renew them. */
  #current = false;
  #last: number | undefined;

  constructor(options: LeaseCountOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#running = this.#run();
  }

  /** Servers with a valid lease, at least one; undefined until the first list has come. */
  count(): number | undefined {
    if (this.#current) this.#last = this.#valid();
    return this.#last;
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    await this.#leases?.stop();
    this.#api?.close();
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      try {
        this.#api = await this.#options.openApi();
        if (!this.#stopped.signal.aborted) this.#leases = this.#watch(this.#api);
        return;
      } catch (reason) {
        this.#options.onError(reason);
        await pause(this.#clock, REOPEN_MS, this.#stopped.signal);
      }
    }
  }

  #watch(api: KubeApi): ListWatch<Lease> {
    const { labelSelector, namespace, onError, onListed, onWatched } = this.#options;
    const leases = new ListWatch<Lease>({
      api,
      clock: this.#clock,
      labelSelector,
      silenceMs: SILENCE_MS,
      path: leasesPath(namespace),
      onChange: () => {
        this.#current = true;
        this.#last = this.#valid();
      },
      onError: (reason) => {
        this.#current = false;
        onError(reason);
      },
      onListed,
      onWatched,
    });
    leases.start();
    return leases;
  }

  #valid(): number {
    const now = this.#clock.date();
    let valid = 0;
    for (const lease of this.#leases?.items.values() ?? []) if (isLeaseValid(lease, now)) valid++;
    return Math.max(1, valid);
  }
}
