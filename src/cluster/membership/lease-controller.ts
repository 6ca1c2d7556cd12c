/** A server's leases: its own, by which agents count it, and those of servers that are gone, which it removes. */
import { type Clock, pause, systemClock } from "../../base/clock.js";
import { messageOf } from "../../base/errors/error.js";
import { isConflict, isNotFound, KubeApiError } from "../kube/errors.js";
import { isLeaseValid, type Lease, leasePath, leasesPath, microTime } from "../kube/lease.js";
import { deleteIfPresent, find } from "../kube/objects.js";
import { typed } from "../kube/paths.js";
import type { KubeApi } from "../kube/port.js";

/** Gets the HTTP status (0: no answer came), the duration, and the API's reason for a failure (empty on success). */
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
  /** Called with one sentence per failure; the controller continues by itself. */
  readonly onError: (sentence: string) => void;
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
const COLLECT_MS = 15_000;

/**
 * Keeps the lease by which agents count this server, and removes leases of servers that went away without doing so
 * themselves, as every server does.
 */
export class LeaseController {
  readonly leaseName: string;
  readonly #options: LeaseControllerOptions;
  readonly #clock: Clock;
  readonly #path: string;
  readonly #stopped = new AbortController();
  #latest: Lease | undefined;
  #running: Promise<unknown> | undefined;

  constructor(options: LeaseControllerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.leaseName = `konnectivity-proxy-server-${options.serverId}`;
    this.#path = leasePath(options.namespace, this.leaseName);
  }

  /** Returns at once. */
  start(): void {
    this.#running ??= Promise.all([
      this.#repeat(
        () => this.#renew(),
        () => RENEW_MS * (1 + Math.random() * JITTER),
      ),
      this.#repeat(
        () => this.#collect(),
        () => COLLECT_MS,
      ),
    ]);
  }

  /**
   * Stops both loops, then deletes this server's lease: a renewal that came later would bring it back. Takes ten seconds at
   * most when the API does not answer.
   */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    const { api, onError } = this.#options;
    try {
      await deleteIfPresent(api, this.#path, { timeoutMs: REQUEST_TIMEOUT_MS });
    } catch (reason) {
      onError(`the lease ${this.leaseName} was left behind: ${messageOf(reason)}`);
    }
  }

  async #repeat(work: () => Promise<void>, intervalMs: () => number): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      await work();
      await pause(this.#clock, intervalMs(), this.#stopped.signal);
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
    const { api, onError } = this.#options;
    let current = base;
    for (let attempt = 0; attempt < UPDATE_ATTEMPTS && !this.#stopped.signal.aborted; attempt++) {
      try {
        this.#latest = await api.update(this.#path, this.#renewed(current), { timeoutMs: REQUEST_TIMEOUT_MS });
        return true;
      } catch (reason) {
        onError(`the lease ${this.leaseName} could not be renewed: ${messageOf(reason)}`);
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
    const options = { timeoutMs: REQUEST_TIMEOUT_MS };
    for (let backoff = FIRST_BACKOFF_MS; !this.#stopped.signal.aborted; backoff *= 2) {
      try {
        const lease = await find<Lease>(api, this.#path, options);
        if (lease !== undefined) return { lease, created: false };
        const made = this.#renewed({ metadata: { name: this.leaseName, namespace } });
        return { lease: await api.create(leasesPath(namespace), made, options), created: true };
      } catch (reason) {
        onError(`the lease ${this.leaseName} could not be made: ${messageOf(reason)}`);
        await pause(this.#clock, Math.min(backoff, LONGEST_BACKOFF_MS), this.#stopped.signal);
      }
    }
    return undefined;
  }

  #renewed(base: Lease): Lease {
    const { labels, serverId } = this.#options;
    return {
      ...typed("Lease", base),
      metadata: { ...base.metadata, labels },
      spec: {
        ...base.spec,
        holderIdentity: serverId,
        leaseDurationSeconds: DURATION_SECONDS,
        renewTime: microTime(this.#clock.date()),
      },
    };
  }

  async #collect(): Promise<void> {
    const { api, labels, namespace, onCulled, onDeleted, onListed } = this.#options;
    const { signal } = this.#stopped;
    const labelSelector = Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .sort()
      .join(",");
    const list = await this.#observed("leases could not be listed", onListed, () =>
      api.list<Lease>(leasesPath(namespace), { labelSelector, signal }),
    );
    for (const lease of list?.items ?? []) {
      if (signal.aborted) return;
      if (isLeaseValid(lease, this.#clock.date())) continue;
      const { name = "", resourceVersion } = lease.metadata ?? {};
      // The version is a precondition: a lease that was renewed since the list stays.
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
      // Another server has deleted it.
      if (!isNotFound(reason)) this.#options.onError(`${failure}: ${messageOf(reason)}`);
      return undefined;
    }
  }
}
