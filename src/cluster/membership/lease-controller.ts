/** A server's leases: its own, by which agents count it, and those of servers that are gone, which it removes. */
import { pause } from "../../base/clock.js";
import { messageOf } from "../../base/errors/error.js";
import { type Runtime, systemRuntime } from "../../base/runtime.js";
import { isNotFound } from "../kube/errors.js";
import { type Lease, leasePath, leasesPath, renewedLease } from "../kube/lease.js";
import { observed, type RequestObserver } from "../kube/list-watch.js";
import { createOrUpdate, deleteIfPresent, find } from "../kube/objects.js";
import type { KubeApi } from "../kube/port.js";
import { SeenLeases } from "./seen-leases.js";

export interface LeaseControllerOptions {
  readonly api: KubeApi;
  readonly serverId: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly runtime?: Runtime;
  /** Called for lists of leases and deletions of expired ones. */
  readonly onRequest: RequestObserver;
  /** Called with one sentence per failure, and what was caught; the controller continues by itself. */
  readonly onError: (sentence: string, reason: unknown) => void;
}

const DURATION_SECONDS = 30;
const RENEW_MS = 15_000;
/** Fraction of the interval by which renewals are spread. */
const JITTER = 0.04;
const FIRST_BACKOFF_MS = 200;
const LONGEST_BACKOFF_MS = 7000;
/** A request that takes longer would let the lease run out before it could be tried again. */
const REQUEST = { timeoutMs: 5000 };
const COLLECT_MS = 15_000;

/**
 * Keeps the lease by which agents count this server, and removes leases of servers that went away without doing so
 * themselves, as every server does.
 */
export class LeaseController {
  readonly leaseName: string;
  readonly #options: LeaseControllerOptions;
  readonly #runtime: Runtime;
  readonly #path: string;
  readonly #seen: SeenLeases;
  readonly #stopped = new AbortController();
  /** As the API stored it last; undefined when it has to be read first. */
  #latest: Lease | undefined;
  #running: Promise<unknown> | undefined;

  constructor(options: LeaseControllerOptions) {
    this.#options = options;
    this.#runtime = options.runtime ?? systemRuntime;
    this.#seen = new SeenLeases(this.#runtime);
    this.leaseName = `konnectivity-proxy-server-${options.serverId}`;
    this.#path = leasePath(options.namespace, this.leaseName);
  }

  /** Returns at once. */
  start(): void {
    this.#running ??= Promise.all([
      this.#repeat(
        () => this.#renew(),
        () => RENEW_MS * (1 + this.#runtime.random() * JITTER),
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
      await deleteIfPresent(api, this.#path, REQUEST);
    } catch (reason) {
      onError(`the lease ${this.leaseName} was left behind: ${messageOf(reason)}`, reason);
    }
  }

  async #repeat(work: () => Promise<void>, intervalMs: () => number): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      await work();
      await pause(this.#runtime, intervalMs(), this.#stopped.signal);
    }
  }

  /** Returns when the renewed lease is stored, however long that takes, or when stopped. */
  async #renew(): Promise<void> {
    const { api, labels, namespace, onError, serverId } = this.#options;
    const { signal } = this.#stopped;
    let backoff = FIRST_BACKOFF_MS;
    while (!signal.aborted) {
      const known = this.#latest;
      this.#latest = undefined;
      try {
        const lease = known ?? (await find<Lease>(api, this.#path, REQUEST));
        const metadata = { ...lease?.metadata, name: this.leaseName, namespace, labels };
        const renewed = renewedLease({ ...lease, metadata }, serverId, DURATION_SECONDS, this.#runtime.date());
        this.#latest = await createOrUpdate(api, "Lease", renewed, REQUEST);
        return;
      } catch (reason) {
        // Only a namespace can be missing when a lease is created.
        const step = isNotFound(reason) ? `; create the namespace ${namespace}, or correct --lease-namespace` : "";
        onError(`the lease ${this.leaseName} could not be renewed: ${messageOf(reason)}${step}`, reason);
        // One that somebody else wrote or deleted is read and written at once.
        if (known !== undefined) continue;
        await pause(this.#runtime, backoff, signal);
        backoff = Math.min(2 * backoff, LONGEST_BACKOFF_MS);
      }
    }
  }

  async #collect(): Promise<void> {
    const { api, labels, namespace, onRequest } = this.#options;
    const { signal } = this.#stopped;
    const observer = { clock: this.#runtime, signal, onRequest };
    const labelSelector = Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .sort()
      .join(",");
    const list = await this.#reported("leases could not be listed", () =>
      observed("list", observer, () => api.list<Lease>(leasesPath(namespace), { labelSelector, signal })),
    );
    if (list === undefined) return;
    this.#seen.see(list.items);
    for (const lease of list.items) {
      if (signal.aborted) return;
      if (!this.#seen.ranOut(lease)) continue;
      const { name = "", resourceVersion } = lease.metadata ?? {};
      // The version is a precondition: a lease that was renewed since the list stays.
      const condition = resourceVersion === undefined ? {} : { resourceVersion };
      await this.#reported(`the expired lease ${name} could not be deleted`, () =>
        observed("delete", observer, () => api.delete(leasePath(namespace, name), { ...condition, signal })),
      );
    }
  }

  async #reported<T>(failure: string, call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await call();
    } catch (reason) {
      // Another server has deleted it.
      const isExpected = this.#stopped.signal.aborted || isNotFound(reason);
      if (!isExpected) this.#options.onError(`${failure}: ${messageOf(reason)}`, reason);
      return undefined;
    }
  }
}
