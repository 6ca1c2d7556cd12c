import { messageOf } from "../../../base/errors/error.js";
import { type Clock, pause } from "../../../cluster/kube/clock.js";
import { isNotFound, KubeApiError } from "../../../cluster/kube/errors.js";
import { isLeaseValid, type Lease, leasePath, leasesPath } from "../../../cluster/kube/lease.js";
import type { KubeApi } from "../../../cluster/kube/port.js";

/** HTTP status (0: no answer came), duration, and the API's reason for a failure (empty on success). */
export type RequestObserver = (status: number, seconds: number, reason: string) => void;

export interface CollectorOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly onListed: RequestObserver;
  readonly onDeleted: RequestObserver;
  readonly onCulled: (count: number) => void;
  readonly onError: (sentence: string) => void;
}

const INTERVAL_MS = 15_000;

/** Removes leases of servers that went away without doing so themselves. Every server does this. */
export class LeaseCollector {
  readonly #options: CollectorOptions;
  readonly #selector: string;
  readonly #stopped = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: CollectorOptions) {
    this.#options = options;
    this.#selector = Object.entries(options.labels)
      .map(([key, value]) => `${key}=${value}`)
      .sort()
      .join(",");
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      await this.#collect();
      await pause(this.#options.clock, INTERVAL_MS, this.#stopped.signal);
    }
  }

  async #collect(): Promise<void> {
    const { api, clock, namespace, onCulled, onDeleted, onListed } = this.#options;
    const { signal } = this.#stopped;
    const list = await this.#observed("leases could not be listed", onListed, () =>
      api.list<Lease>(leasesPath(namespace), { labelSelector: this.#selector, signal }),
    );
    for (const lease of list?.items ?? []) {
      if (signal.aborted) return;
      if (isLeaseValid(lease, clock.now())) continue;
      const { name = "", resourceVersion } = lease.metadata ?? {};
      // The version as a precondition: a lease renewed since we looked stays.
      const condition = resourceVersion === undefined ? {} : { resourceVersion };
      const deleted = await this.#observed(`the expired lease ${name} could not be deleted`, onDeleted, async () => {
        await api.delete(leasePath(namespace, name), { ...condition, signal });
        return true;
      });
      if (deleted === true) onCulled(1);
    }
  }

  async #observed<T>(failure: string, observe: RequestObserver, call: () => Promise<T>): Promise<T | undefined> {
    const { clock, onError } = this.#options;
    const began = clock.now();
    try {
      const result = await call();
      observe(200, (clock.now() - began) / 1000, "");
      return result;
    } catch (reason) {
      if (this.#stopped.signal.aborted) return undefined;
      const { status, reason: why } = reason instanceof KubeApiError ? reason : { status: 0, reason: "" };
      observe(status, (clock.now() - began) / 1000, why);
      // Another server was quicker.
      if (!isNotFound(reason)) onError(`${failure}: ${messageOf(reason)}`);
      return undefined;
    }
  }
}
