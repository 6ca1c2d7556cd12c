import { messageOf } from "../../../base/errors/error.js";
import { type Clock, pause } from "../../../cluster/kube/clock.js";
import { isConflict, isNotFound } from "../../../cluster/kube/errors.js";
import { type Lease, leasePath, leasesPath, microTime } from "../../../cluster/kube/lease.js";
import type { KubeApi } from "../../../cluster/kube/port.js";

export interface OwnLeaseOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly serverId: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
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

/** The lease by which agents count this server: made at start, renewed for as long as we run, removed at the end. */
export class OwnLease {
  readonly name: string;
  readonly #options: OwnLeaseOptions;
  readonly #stopped = new AbortController();
  #latest: Lease | undefined;
  #running: Promise<void> | undefined;

  constructor(options: OwnLeaseOptions) {
    this.#options = options;
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
    const { clock } = this.#options;
    while (!this.#stopped.signal.aborted) {
      await this.#renew();
      await pause(clock, RENEW_MS * (1 + Math.random() * JITTER), this.#stopped.signal);
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
    const { api, clock, namespace, onError } = this.#options;
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
        await pause(clock, backoff, this.#stopped.signal);
      }
    }
    return undefined;
  }

  #renewed(base: Lease): Lease {
    const { clock, labels, serverId } = this.#options;
    return {
      ...base,
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { ...base.metadata, labels },
      spec: {
        ...base.spec,
        holderIdentity: serverId,
        leaseDurationSeconds: DURATION_SECONDS,
        renewTime: microTime(clock.now()),
      },
    };
  }
}
