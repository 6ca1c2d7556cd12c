/** The cluster's API, as far as leases go: every request takes a while there, and its answer a while back. */
import { KubeApiError } from "../../src/cluster/kube/errors.js";
import type { Lease } from "../../src/cluster/kube/lease.js";
import type {
  DeleteOptions,
  KubeApi,
  KubeWatchOptions,
  RequestOptions,
  WatchEvent,
} from "../../src/cluster/kube/port.js";
import type { KubePlan } from "../types.js";
import type { Host } from "../world/host.js";
import type { Random } from "../world/random.js";
import type { World } from "../world/world.js";

interface Change {
  readonly version: number;
  readonly event: WatchEvent<Lease>;
}

export class SimKube {
  readonly #world: World;
  readonly #plan: KubePlan;
  readonly #random: Random;
  readonly #leases = new Map<string, Lease>();
  readonly #changes: Change[] = [];
  readonly #watches = new Set<(event: WatchEvent<Lease>) => void>();

  constructor(world: World, plan: KubePlan) {
    this.#world = world;
    this.#plan = plan;
    this.#random = world.random("API");
  }

  /** As one process sees it. */
  apiFor(host: Host): KubeApi {
    const api = {
      get: (path: string, options?: RequestOptions) => this.#ask(host, options, () => this.#existing(path)),
      list: (_path: string, options?: RequestOptions) =>
        this.#ask(host, options, () => ({
          metadata: { resourceVersion: String(this.#changes.length) },
          items: [...this.#leases.values()],
        })),
      create: (_path: string, lease: Lease, options?: RequestOptions) =>
        this.#ask(host, options, () => {
          if (this.#leases.has(nameOf(lease))) throw refused(409, "AlreadyExists");
          return this.#store("ADDED", lease);
        }),
      update: (path: string, lease: Lease, options?: RequestOptions) =>
        this.#ask(host, options, () => {
          this.#expect(path, lease.metadata?.resourceVersion);
          return this.#store("MODIFIED", lease);
        }),
      delete: (path: string, options?: DeleteOptions) =>
        this.#ask(host, options, () => void this.#store("DELETED", this.#expect(path, options?.resourceVersion))),
      watch: (_path: string, options: KubeWatchOptions) => this.#watch(host, options),
      close() {},
    };
    return api as Partial<KubeApi> as KubeApi;
  }

  get #latencyMs(): number {
    return this.#random.between(...this.#plan.latencyMs);
  }

  #existing(path: string): Lease {
    const lease = this.#leases.get(path.slice(path.lastIndexOf("/") + 1));
    if (lease === undefined) throw refused(404, "NotFound");
    return lease;
  }

  #expect(path: string, version: string | undefined): Lease {
    const lease = this.#existing(path);
    if (version !== undefined && version !== lease.metadata?.resourceVersion) throw refused(409, "Conflict");
    return lease;
  }

  #store(type: "ADDED" | "MODIFIED" | "DELETED", lease: Lease): Lease {
    const version = this.#changes.length + 1;
    const stored = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(version) } };
    if (type === "DELETED") this.#leases.delete(nameOf(lease));
    else this.#leases.set(nameOf(lease), stored);
    const event = { type, object: stored };
    this.#changes.push({ version, event });
    for (const tell of this.#watches) tell(event);
    return stored;
  }

  /** What a process asked for happens also when it has ended meanwhile. */
  #ask<T>(host: Host, { signal }: RequestOptions = {}, act: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal?.reason);
      const settle = (end: () => void): void => {
        host.after(this.#latencyMs, "answer of the API", () => {
          signal?.removeEventListener("abort", onAbort);
          end();
        });
      };
      signal?.addEventListener("abort", onAbort);
      this.#world.after(this.#latencyMs, "request to the API", () => {
        try {
          const value = act();
          settle(() => resolve(value));
        } catch (reason) {
          settle(() => reject(reason));
        }
      });
    });
  }

  async *#watch(host: Host, { resourceVersion, signal, onOpen }: KubeWatchOptions): AsyncGenerator<WatchEvent<Lease>> {
    const arrived: WatchEvent<Lease>[] = [];
    let wake: () => void = () => {};
    let dueAt = 0;
    const tell = (event: WatchEvent<Lease>): void => {
      // On one connection nothing overtakes.
      dueAt = Math.max(dueAt + 0.001, this.#world.now + this.#latencyMs);
      host.after(dueAt - this.#world.now, "event of the API", () => {
        arrived.push(event);
        wake();
      });
    };
    const onAbort = (): void => wake();
    signal.addEventListener("abort", onAbort);
    try {
      await this.#ask(host, { signal }, () => {
        this.#watches.add(tell);
        for (const { version, event } of this.#changes) if (version > Number(resourceVersion)) tell(event);
      });
      onOpen?.();
      while (!signal.aborted) {
        for (let event = arrived.shift(); event !== undefined; event = arrived.shift()) yield event;
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (signal.aborted || arrived.length > 0) resolve();
        });
      }
    } catch (reason) {
      if (!signal.aborted) throw reason;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#watches.delete(tell);
    }
  }
}

const nameOf = ({ metadata }: Lease): string => metadata?.name ?? "";

const refused = (status: number, reason: string): KubeApiError => new KubeApiError(reason, { status, reason });
