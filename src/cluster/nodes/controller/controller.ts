/** Keeps every pool of a namespace as its object says: watches, queues, passes. */

import { type Clock, systemClock } from "../../../base/clock.js";
import { messageOf } from "../../../base/errors/error.js";
import { ListWatch } from "../../kube/list-watch.js";
import { collectionPath, type Kind } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { annotation, type ConfigMap, nameOf, pathOf, type Secret } from "../objects.js";
import type { NodePool } from "../pool/node-pool.js";
import { type Outcome, WorkQueue } from "../work-queue.js";
import { concernsCertificate, keepCertificate } from "./certificate.js";
import { pass, Writer } from "./pass.js";
import { concernedByConfigMap, concernedBySecret, type View } from "./view.js";

export interface PoolControllerOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  /** Only the leader writes. */
  readonly leading: () => boolean;
  readonly clock?: Clock;
  readonly newToken?: () => string;
  /** Everything is looked at again after this long, whatever the watches said. */
  readonly resyncMs?: number;
  readonly silenceMs?: number;
  readonly mostQueued?: number;
  /** Whether the Ignition server's certificate is issued here. */
  readonly issuesCertificate?: boolean;
  readonly onIssued?: (sentence: string) => void;
  readonly onPass?: (key: string, outcome: Outcome["next"]) => void;
  /** A pass over a pool failed and is repeated; told again only in other words. */
  readonly onFailure?: (pool: NodePool, sentence: string) => void;
  readonly onError?: (sentence: string) => void;
}

const DEFAULT_RESYNC_MS = 10 * 60_000;
/** Events that come together are looked at together. */
const GATHER_MS = 20;
/** No pool's key: those have a slash. */
const CERTIFICATE_KEY = "certificate";

export class PoolController {
  readonly #options: PoolControllerOptions;
  readonly #clock: Clock;
  readonly #queue: WorkQueue;
  readonly #writer: Writer;
  readonly #pools: ListWatch<NodePool>;
  readonly #configMaps: ListWatch<ConfigMap>;
  readonly #secrets: ListWatch<Secret>;
  readonly #changes = {
    pools: new Changes<NodePool>(),
    configMaps: new Changes<ConfigMap>(),
    secrets: new Changes<Secret>(),
  };
  #cancelGathering: (() => void) | undefined;
  #cancelResync: (() => void) | undefined;
  #stopped = false;
  readonly #complaints = new Complaints();

  constructor(options: PoolControllerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#writer = new Writer(options.api, options.leading);
    this.#queue = new WorkQueue({
      clock: this.#clock,
      work: (key) => this.#pass(key),
      onOverflow: () => this.lookAtAll(),
      ...(options.mostQueued === undefined ? {} : { most: options.mostQueued }),
    });
    this.#pools = this.#watched<NodePool>("NodePool");
    this.#configMaps = this.#watched<ConfigMap>("ConfigMap");
    this.#secrets = this.#watched<Secret>("Secret");
  }

  /** Whether everything has been listed once. */
  get synced(): boolean {
    return [this.#pools, this.#configMaps, this.#secrets].every(({ synced }) => synced);
  }

  get view(): View {
    return { pools: this.#pools.items, configMaps: this.#configMaps.items, secrets: this.#secrets.items };
  }

  get queued(): number {
    return this.#queue.length;
  }

  /** Returns at once. */
  start(): void {
    for (const watch of [this.#pools, this.#configMaps, this.#secrets]) watch.start();
    this.#scheduleResync();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelGathering?.();
    this.#cancelResync?.();
    await this.#queue.stop();
    await Promise.all([this.#pools, this.#configMaps, this.#secrets].map((watch) => watch.stop()));
  }

  /** Every pool, and every pool that is gone and left Secrets; after becoming the leader, say. */
  lookAtAll(): void {
    if (!this.synced) return;
    const owners = [...this.#secrets.items.values()].flatMap(
      ({ metadata }) => metadata?.annotations?.[annotation.nodePool] ?? [],
    );
    this.#enqueue([CERTIFICATE_KEY, ...this.#pools.items.keys(), ...owners]);
  }

  #enqueue(keys: readonly string[]): void {
    for (const key of new Set(keys)) {
      if (key !== CERTIFICATE_KEY || this.#options.issuesCertificate) this.#queue.add(key);
    }
  }

  async #pass(key: string): Promise<Outcome> {
    if (!this.synced || !this.#options.leading()) return { next: "wait" };
    const complaints: string[] = [];
    const onError = (sentence: string) => complaints.push(sentence);
    const outcome = await this.#workOn(key, onError);
    // One that only came too late, and is repeated, says nothing about what was complained of before.
    const isRepeat = outcome.next === "retry";
    if (!isRepeat || complaints.length > 0) this.#complain(key, complaints.join("; "), isRepeat);
    this.#options.onPass?.(key, outcome.next);
    return outcome;
  }

  #workOn(key: string, onError: (sentence: string) => void): Promise<Outcome> {
    const { namespace, newToken, onIssued } = this.#options;
    const given = { view: this.view, writer: this.#writer, now: () => this.#clock.date(), onError };
    if (key === CERTIFICATE_KEY) return keepCertificate({ ...given, namespace, onIssued });
    return pass(key, { ...given, ...(newToken === undefined ? {} : { newToken }) });
  }

  #complain(key: string, sentence: string, isFailure: boolean): void {
    if (!this.#complaints.isNews(key, sentence)) return;
    this.#options.onError?.(key === CERTIFICATE_KEY ? sentence : `pool ${key}: ${sentence}`);
    const pool = this.#pools.items.get(key);
    if (isFailure && pool !== undefined) this.#options.onFailure?.(pool, sentence);
  }

  #watched<T extends KubeObject>(kind: Kind): ListWatch<T> {
    const { api, namespace, onError, silenceMs } = this.#options;
    return new ListWatch<T>({
      api,
      clock: this.#clock,
      path: collectionPath(kind, namespace),
      ...(silenceMs === undefined ? {} : { silenceMs }),
      onChange: () => this.#gather(),
      onError: (reason) => onError?.(messageOf(reason)),
    });
  }

  #gather(): void {
    if (this.#stopped || !this.synced || this.#cancelGathering !== undefined) return;
    this.#cancelGathering = this.#clock.after(GATHER_MS, () => {
      this.#cancelGathering = undefined;
      this.#enqueueChanged();
    });
  }

  #enqueueChanged(): void {
    const { configMaps, pools, secrets } = this.#changes;
    const { view } = this;
    const changed = {
      pools: pools.take(view.pools),
      configMaps: configMaps.take(view.configMaps),
      secrets: secrets.take(view.secrets),
    };
    this.#enqueue([
      ...changed.pools.map((pool) => pathOf(nameOf(pool))),
      ...changed.configMaps.flatMap((map) => concernedByConfigMap(view, map)),
      ...changed.secrets.flatMap((secret) => concernedBySecret(view, secret)),
      ...[...changed.configMaps, ...changed.secrets].filter(concernsCertificate).map(() => CERTIFICATE_KEY),
    ]);
  }

  #scheduleResync(): void {
    this.#cancelResync = this.#clock.after(this.#options.resyncMs ?? DEFAULT_RESYNC_MS, () => {
      this.lookAtAll();
      this.#scheduleResync();
    });
  }
}

// Finds out what is different in a copy of the API server's objects since the last look.

class Changes<T extends KubeObject> {
  #before = new Map<string, T>();

  /** What is new, what is no longer as it was, and what is gone as it was last. */
  take(items: ReadonlyMap<string, T>): T[] {
    const changed: T[] = [];
    for (const [key, item] of items) {
      const before = this.#before.get(key);
      if (before?.metadata?.resourceVersion === item.metadata?.resourceVersion && before !== undefined) continue;
      // What it was may have concerned others than what it is.
      if (before !== undefined) changed.push(before);
      changed.push(item);
    }
    for (const [key, item] of this.#before) if (!items.has(key)) changed.push(item);
    this.#before = new Map(items);
    return changed;
  }
}

/** What was complained of last, so that a loop of failures is told once. */
class Complaints {
  readonly #told = new Map<string, string>();

  /** False for what was said already; an empty sentence means that all is well again. */
  isNews(key: string, sentence: string): boolean {
    if (this.#told.get(key) === sentence) return false;
    if (sentence === "") this.#told.delete(key);
    else this.#told.set(key, sentence);
    return sentence !== "";
  }
}
