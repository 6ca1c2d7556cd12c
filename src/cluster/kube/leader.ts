/** Leader election: the replica that holds a Lease and renews it in time does the work. */

import { type Clock, pause, systemClock } from "../../base/clock.js";
import { messageOf } from "../../base/errors/error.js";
import { isConflict, isNotFound } from "./errors.js";
import { type Lease, leasePath, renewedLease } from "./lease.js";
import { change, createOrUpdate, find } from "./objects.js";
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
  readonly onError?: (sentence: string, reason?: unknown) => void;
}

// The defaults of client-go.
const LEASE_SECONDS = 15;
const RENEW_DEADLINE_MS = 10_000;
const RETRY_MS = 2000;
const REQUEST = { timeoutMs: 5000 };

export class LeaderElection {
  readonly #options: LeaderOptions;
  readonly #clock: Clock;
  readonly #path: string;
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
    this.#path = leasePath(options.namespace, options.name);
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
    const { api, identity, name, onError } = this.#options;
    this.#stopped.abort();
    await this.#running;
    if (!this.leading) return;
    this.#leadsUntil = Number.NEGATIVE_INFINITY;
    const released = (lease: Lease): Lease | undefined =>
      lease.spec?.holderIdentity === identity
        ? { ...lease, spec: { ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1 } }
        : undefined;
    try {
      await change(api, this.#path, 1, released, REQUEST);
    } catch (reason) {
      onError?.(`the lease ${name} was not given back: ${messageOf(reason)}`, reason);
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const began = this.#clock.now();
      try {
        this.#leadsUntil = (await this.#acquire()) ? began + RENEW_DEADLINE_MS : Number.NEGATIVE_INFINITY;
      } catch (reason) {
        // Another replica wrote first.
        if (!isConflict(reason)) {
          this.#options.onError?.(`the lease ${this.#options.name} cannot be held: ${messageOf(reason)}`, reason);
        }
      }
      this.#report();
      await pause(this.#clock, RETRY_MS, this.#stopped.signal);
    }
  }

  /** Whether the Lease is ours now. */
  async #acquire(): Promise<boolean> {
    const { api, identity, name, namespace } = this.#options;
    const found = await find<Lease>(api, this.#path, REQUEST);
    const lease: Lease = { ...found, metadata: { ...found?.metadata, name, namespace } };
    const isOurs = lease.spec?.holderIdentity === identity;
    if (!isOurs && !this.#isFree(lease)) return false;
    const renewed = renewedLease(lease, identity, LEASE_SECONDS, this.#clock.date());
    const { renewTime, leaseTransitions = -1 } = renewed.spec!;
    const taken = { ...renewed.spec, acquireTime: renewTime!, leaseTransitions: leaseTransitions + 1 };
    await createOrUpdate(api, "Lease", isOurs ? renewed : { ...renewed, spec: taken }, REQUEST).catch((reason) => {
      // A collection is missing only together with all that is in its namespace.
      if (found !== undefined || !isNotFound(reason)) throw reason;
      throw new Error(`there is no namespace ${namespace}; create it, or name another with --namespace`);
    });
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

  #report(): void {
    if (this.leading === this.#reported) return;
    this.#reported = this.leading;
    this.#options.onChange?.(this.#reported);
  }
}
