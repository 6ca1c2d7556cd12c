import { type Runtime, systemRuntime } from "../../base/runtime.js";
import { type Lease, leasesPath } from "../kube/lease.js";
import { ListWatch, type ListWatchOptions } from "../kube/list-watch.js";
import type { KubeApi } from "../kube/port.js";
import { SeenLeases } from "./seen-leases.js";

export interface LeaseCountOptions extends Required<Pick<ListWatchOptions<Lease>, "onRequest" | "onError">> {
  /** Tried again until it succeeds. The API is closed when the count is stopped. */
  readonly openApi: () => Promise<KubeApi>;
  readonly namespace: string;
  readonly labelSelector: string;
  readonly runtime?: Runtime;
}

/** Each server renews its lease every 15 s, so three renewals missed by all of them mean that the watch is dead. */
const SILENCE_MS = 45_000;

/** Counts the servers by the leases they keep. Begins at once, ends with `stop`. */
export class LeaseCount {
  readonly #leases: ListWatch<Lease>;
  readonly #seen: SeenLeases;
  /** False while the API does not answer; leases then seem to run out although their holders renew them. */
  #current = false;
  #last: number | undefined;

  constructor({ labelSelector, namespace, onError, onRequest, openApi, runtime = systemRuntime }: LeaseCountOptions) {
    this.#seen = new SeenLeases(runtime);
    this.#leases = new ListWatch<Lease>({
      ...{ api: openApi, clock: runtime, labelSelector, onRequest, silenceMs: SILENCE_MS, path: leasesPath(namespace) },
      onChange: (leases) => {
        this.#seen.see(leases.values());
        this.#current = true;
        this.count();
      },
      onError: (reason) => {
        this.#current = false;
        onError(reason);
      },
    });
    this.#leases.start();
  }

  /** Servers with a valid lease, at least one; undefined until the first list has come. */
  count(): number | undefined {
    const valid = () => [...this.#leases.items.values()].filter((lease) => this.#seen.isValid(lease)).length;
    if (this.#current) this.#last = Math.max(1, valid());
    return this.#last;
  }

  stop(): Promise<void> {
    return this.#leases.stop();
  }
}
