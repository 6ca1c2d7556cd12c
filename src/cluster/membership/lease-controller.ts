/** A server's leases: its own, by which agents count it, and those of servers that are gone, which it removes. */
import { type Clock, pause, systemClock } from "../../base/clock.js";
import { messageOf } from "../../base/errors/error.js";
import { isConflict, isNotFound, KubeApiError } from "../kube/errors.js";
import { isLeaseValid, type Lease, leasePath, leasesPath, microTime } from "../kube/lease.js";
import type { KubeApi } from "../kube/port.js";

/** HTTP status (0: no answer came), duration, and the API's reason for a failure (empty on success). */
type RequestObserver = (status: number, seconds: number, reason: string) => void;

export interface LeaseControllerOptions {
  readonly api: KubeApi;
  readonly serverId: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  readonly onListed: RequestObserver;
  readonly onDeleted: RequestObserver;
  readonly onCulled: (count: number) => void;
  /** One sentence per failure; the controller goes on by itself. */
  readonly onError: (sentence: string) => void;
}

/** Keeps this server's lease and removes those of servers that are gone. */
export class LeaseController {
  readonly #own: OwnLease;
  readonly #collector: LeaseCollector;

  constructor(options: LeaseControllerOptions) {
    const { clock = systemClock } = options;
    this.#own = new OwnLease(options, clock);
    this.#collector = new LeaseCollector(options, clock);
  }

  get leaseName(): string {
    return this.#own.name;
  }

  /** Returns at once. */
  start(): void {
    this.#own.start();
    this.#collector.start();
  }

  /** Stops both loops and deletes this server's lease; takes ten seconds at most when the API does not answer. */
  async stop(): Promise<void> {
    await Promise.all([this.#own.stop(), this.#collector.stop()]);
  }
}

const DURATION_SECONDS = 30;
const RENEW_MS = 15_000;
/** Fraction of the interval by which renewals are spread. */
const JITTER = 0.04;
const UPDATE_ATTEMPTS = 5;
const FIRST_BACKOFF_MS = 200;
const LONGEST_BACKOFF_MS = 7000;
/** A request that takes longer would let the lease run out before it could be tried again. */
const REQUEST_TIMEOUT_MS = 5000;

/** The lease by which agents count this server: made at start, renewed for as long as we run, removed at the end. */
class OwnLease {
  readonly name: string;
  readonly #options: LeaseControllerOptions;
  readonly #clock: Clock;
  readonly #stopped = new AbortController();
  #latest: Lease | undefined;
  #running: Promise<void> | undefined;

  constructor(options: LeaseControllerOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.name = `konnectivity-proxy-server-${options.serverId}`;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Deletes the lease once no renewal is under way any more: one that came later would bring it back. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    const { api, namespace, onError } = this.#options;
    try {
      await api.delete(leasePath(namespace, this.name), { timeoutMs: REQUEST_TIMEOUT_MS });
    } catch (reason) {
      if (!isNotFound(reason)) onError(`the lease ${this.name} was left behind: ${messageOf(reason)}`);
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      await this.#renew();
      await pause(this.#clock, RENEW_MS * (1 + Math.random() * JITTER), this.#stopped.signal);
    }
  }

  async #renew(): Promise<void> {
    if (this.#latest !== undefined && (await this.#update(this.#latest))) return;
    const found = await this.#ensure();
    if (found === undefined) return;
    if (found.created) this.#latest = found.lease;
    else await this.#update(found.lease);
  }

  /** Tries a few times in a row; true when the renewed lease was stored. */
  async #update(base: Lease): Promise<boolean> {
    const { api, namespace, onError } = this.#options;
    let current = base;
    for (let attempt = 0; attempt < UPDATE_ATTEMPTS && !this.#stopped.signal.aborted; attempt++) {
      try {
        const path = leasePath(namespace, this.name);
        this.#latest = await api.update(path, this.#renewed(current), { timeoutMs: REQUEST_TIMEOUT_MS });
        return true;
      } catch (reason) {
        onError(`the lease ${this.name} could not be renewed: ${messageOf(reason)}`);
        if (!isConflict(reason) && !isNotFound(reason)) continue;
        const found = await this.#ensure();
        if (found === undefined) return false;
        current = found.lease;
        if (found.created) {
          this.#latest = current;
          return true;
        }
      }
    }
    return false;
  }

  /** Finds or makes the lease, however long that takes; undefined only when stopped. */
  async #ensure(): Promise<{ lease: Lease; created: boolean } | undefined> {
    const { api, namespace, onError } = this.#options;
    for (
      let backoff = FIRST_BACKOFF_MS;
      !this.#stopped.signal.aborted;
      backoff = Math.min(backoff * 2, LONGEST_BACKOFF_MS)
    ) {
      try {
        try {
          const lease = await api.get<Lease>(leasePath(namespace, this.name), { timeoutMs: REQUEST_TIMEOUT_MS });
          return { lease, created: false };
        } catch (reason) {
          if (!isNotFound(reason)) throw reason;
        }
        const made = this.#renewed({ metadata: { name: this.name, namespace } });
        return {
          lease: await api.create(leasesPath(namespace), made, { timeoutMs: REQUEST_TIMEOUT_MS }),
          created: true,
        };
      } catch (reason) {
        onError(`the lease ${this.name} could not be made: ${messageOf(reason)}`);
        await pause(this.#clock, backoff, this.#stopped.signal);
      }
    }
    return undefined;
  }

  #renewed(base: Lease): Lease {
    const { labels, serverId } = this.#options;
    return {
      ...base,
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { ...base.metadata, labels },
      spec: {
        ...base.spec,
        holderIdentity: serverId,
        leaseDurationSeconds: DURATION_SECONDS,
        renewTime: microTime(this.#clock.date()),
      },
    };
  }
}

const COLLECT_MS = 15_000;

/** Removes leases of servers that went away without doing so themselves. Every server does this. */
class LeaseCollector {
  readonly #options: LeaseControllerOptions;
  readonly #clock: Clock;
  readonly #selector: string;
  readonly #stopped = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: LeaseControllerOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
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
      await pause(this.#clock, COLLECT_MS, this.#stopped.signal);
    }
  }

  async #collect(): Promise<void> {
    const { api, namespace, onCulled, onDeleted, onListed } = this.#options;
    const { signal } = this.#stopped;
    const list = await this.#observed("leases could not be listed", onListed, () =>
      api.list<Lease>(leasesPath(namespace), { labelSelector: this.#selector, signal }),
    );
    for (const lease of list?.items ?? []) {
      if (signal.aborted) return;
      if (isLeaseValid(lease, this.#clock.date())) continue;
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
    const began = this.#clock.now();
    try {
      const result = await call();
      observe(200, (this.#clock.now() - began) / 1000, "");
      return result;
    } catch (reason) {
      if (this.#stopped.signal.aborted) return undefined;
      const { status, reason: why } = reason instanceof KubeApiError ? reason : { status: 0, reason: "" };
      observe(status, (this.#clock.now() - began) / 1000, why);
      // Another server was quicker.
      if (!isNotFound(reason)) this.#options.onError(`${failure}: ${messageOf(reason)}`);
      return undefined;
    }
  }
}
