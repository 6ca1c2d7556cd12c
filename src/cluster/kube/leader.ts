/** Leader election: the replica that holds a Lease and renews it in time does the work. */

import { type Clock, pause, systemClock } from "../../base/clock.js";
import { messageOf } from "../../base/errors/error.js";
import { isConflict, isNotFound } from "./errors.js";
import { type Lease, leasePath, leasesPath, microTime } from "./lease.js";
import { find } from "./objects.js";
import { typed } from "./paths.js";
import type { KubeApi } from "./port.js";

export interface LeaderOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  /** The name of the Lease. */
  readonly name: string;
  /** The name of this replica; no two may have the same. */
  readonly identity: string;
  readonly clock?: Clock;
  readonly onChange?: (leading: boolean) => void;
  /** Called with one sentence per failure; the loop continues by itself. */
  readonly onError?: (sentence: string) => void;
}

// The defaults of client-go.
const LEASE_SECONDS = 15;
const RENEW_DEADLINE_MS = 10_000;
const RETRY_MS = 2000;
const REQUEST_TIMEOUT_MS = 5000;

export class LeaderElection {
  readonly #options: LeaderOptions;
  readonly #clock: Clock;
  readonly #stopped = new AbortController();
  #running: Promise<void> | undefined;
  #leadsUntil = Number.NEGATIVE_INFINITY;
  #reported = false;
  /** The last content of the Lease, and since when it is seen by our own clock: other clocks are not trusted. */
  #seen = "";
  #seenAt = 0;

  constructor(options: LeaderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Ask right before every write: it ends by itself when renewals fail, before anybody else may take over. */
  get leading(): boolean {
    return this.#clock.now() < this.#leadsUntil;
  }

  /** Returns at once. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Releases the Lease, so that another replica need not wait until it expires. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    if (!this.leading) return;
    this.#leadsUntil = Number.NEGATIVE_INFINITY;
    try {
      const lease = await this.#get();
      if (lease?.spec?.holderIdentity !== this.#options.identity) return;
      await this.#put({ ...lease, spec: { ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1 } });
    } catch (reason) {
      this.#options.onError?.(`the lease ${this.#options.name} was not given back: ${messageOf(reason)}`);
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const began = this.#clock.now();
      try {
        if (await this.#acquire()) this.#leadsUntil = began + RENEW_DEADLINE_MS;
        else this.#leadsUntil = Number.NEGATIVE_INFINITY;
      } catch (reason) {
        // Another replica wrote first.
        if (!isConflict(reason)) {
          this.#options.onError?.(`the lease ${this.#options.name} cannot be held: ${messageOf(reason)}`);
        }
      }
      this.#report();
      await pause(this.#clock, RETRY_MS, this.#stopped.signal);
    }
  }

  /** Whether the Lease is ours now. */
  async #acquire(): Promise<boolean> {
    const { api, identity, name, namespace } = this.#options;
    const lease = await this.#get();
    if (lease === undefined) {
      const made = this.#held({ metadata: { name, namespace } }, true);
      await api.create(leasesPath(namespace), made, { timeoutMs: REQUEST_TIMEOUT_MS }).catch((reason: unknown) => {
        // A collection is missing only together with all that is in its namespace.
        if (!isNotFound(reason)) throw reason;
        throw new Error(`there is no namespace ${namespace}; create it, or name another with --namespace`);
      });
      return true;
    }
    const isOurs = lease.spec?.holderIdentity === identity;
    if (!isOurs && !this.#isFree(lease)) return false;
    await this.#put(this.#held(lease, !isOurs));
    return true;
  }

  #isFree({ spec }: Lease): boolean {
    const content = JSON.stringify([spec?.holderIdentity, spec?.renewTime]);
    if (content !== this.#seen) {
      this.#seen = content;
      this.#seenAt = this.#clock.now();
    }
    if (!spec?.holderIdentity) return true;
    return this.#clock.now() - this.#seenAt > (spec.leaseDurationSeconds ?? LEASE_SECONDS) * 1000;
  }

  #held(base: Lease, isTaken: boolean): Lease {
    const now = microTime(this.#clock.date());
    return {
      ...typed("Lease", base),
      spec: {
        ...base.spec,
        holderIdentity: this.#options.identity,
        leaseDurationSeconds: LEASE_SECONDS,
        renewTime: now,
        ...(isTaken ? { acquireTime: now, leaseTransitions: (base.spec?.leaseTransitions ?? -1) + 1 } : {}),
      },
    };
  }

  #get(): Promise<Lease | undefined> {
    const { api, name, namespace } = this.#options;
    return find(api, leasePath(namespace, name), { timeoutMs: REQUEST_TIMEOUT_MS });
  }

  #put(lease: Lease): Promise<Lease> {
    const { api, name, namespace } = this.#options;
    return api.update(leasePath(namespace, name), lease, { timeoutMs: REQUEST_TIMEOUT_MS });
  }

  #report(): void {
    if (this.leading === this.#reported) return;
    this.#reported = this.leading;
    this.#options.onChange?.(this.#reported);
  }
}
