/** Keeps every pool of a namespace as its object says: watches, queues, passes. */

import { type Clock, systemClock } from "../../../base/clock.js";
import { messageOf } from "../../../base/errors/error.js";
import { ListWatch } from "../../kube/list-watch.js";
import { collectionPath, type Kind } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { annotation, type ConfigMap, type Secret } from "../objects.js";
import type { NodePool } from "../pool/node-pool.js";
import { type WorkOutcome, WorkQueue } from "../work-queue.js";
import { certificateInputs, keepCertificate } from "./certificate.js";
import { pass, Writer } from "./pass.js";
import type { View } from "./view.js";

export interface PoolControllerOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  /** Only the leader writes. */
  readonly leading: () => boolean;
  readonly clock?: Clock;
  readonly newToken?: () => string;
  /** A pass over everything is made after this long even without a change. */
  readonly resyncMs?: number;
  readonly silenceMs?: number;
  readonly mostQueued?: number;
  /** Whether the Ignition server's certificate is issued here. */
  readonly issuesCertificate?: boolean;
  readonly onIssued?: (sentence: string) => void;
  readonly onPass?: (key: string, outcome: WorkOutcome["next"]) => void;
  /** A pass over a pool failed and is repeated; the same sentence is reported once. */
  readonly onFailure?: (pool: NodePool, sentence: string) => void;
  readonly onError?: (sentence: string) => void;
}

const DEFAULT_RESYNC_MS = 10 * 60_000;
/** Changes that come together are followed by one pass. */
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
  readonly #watches: readonly ListWatch<KubeObject>[];
  #certificateInputs = "";
  #cancelGathering: (() => void) | undefined;
  #cancelResync: (() => void) | undefined;
  #stopped = false;
  /** The last complaint about each key, so that a failure that repeats is reported once. */
  readonly #complaints = new Map<string, string>();

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
    this.#watches = [this.#pools, this.#configMaps, this.#secrets];
  }

  /** Whether everything has been listed once. */
  get synced(): boolean {
    return this.#watches.every(({ synced }) => synced);
  }

  get view(): View {
    return { pools: this.#pools.items, configMaps: this.#configMaps.items, secrets: this.#secrets.items };
  }

  get queued(): number {
    return this.#queue.length;
  }

  /** Returns at once. */
  start(): void {
    for (const watch of this.#watches) watch.start();
    this.#scheduleResync();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelGathering?.();
    this.#cancelResync?.();
    await this.#queue.stop();
    await Promise.all(this.#watches.map((watch) => watch.stop()));
  }

  /** Every pool, and every pool that is gone and left Secrets; after becoming the leader, for example. */
  lookAtAll(): void {
    if (!this.synced) return;
    if (this.#options.issuesCertificate) this.#queue.add(CERTIFICATE_KEY);
    this.#lookAtPools();
  }

  /** Any object may be what some pool needs, and a pass that finds nothing to change costs next to nothing. */
  #lookAtPools(): void {
    const owners = [...this.#secrets.items.values()].flatMap(
      ({ metadata }) => metadata?.annotations?.[annotation.nodePool] ?? [],
    );
    for (const key of new Set([...this.#pools.items.keys(), ...owners])) this.#queue.add(key);
  }

  async #pass(key: string): Promise<WorkOutcome> {
    const { leading, namespace, newToken, onIssued, onPass } = this.#options;
    if (!this.synced || !leading()) return { next: "wait" };
    const complaints: string[] = [];
    const onError = (sentence: string) => complaints.push(sentence);
    const given = { view: this.view, writer: this.#writer, now: () => this.#clock.date(), onError };
    const outcome =
      key === CERTIFICATE_KEY
        ? await keepCertificate({ ...given, namespace, onIssued })
        : await pass(key, { ...given, ...(newToken === undefined ? {} : { newToken }) });
    // A pass that only came too late, and is repeated, says nothing about earlier complaints.
    const isRepeat = outcome.next === "retry";
    if (!isRepeat || complaints.length > 0) this.#complain(key, complaints.join("; "), isRepeat);
    onPass?.(key, outcome.next);
    return outcome;
  }

  /** An empty sentence means that all is well again. */
  #complain(key: string, sentence: string, isFailure: boolean): void {
    if ((this.#complaints.get(key) ?? "") === sentence) return;
    if (sentence === "") return void this.#complaints.delete(key);
    this.#complaints.set(key, sentence);
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
      const inputs = certificateInputs(this.view);
      const isChanged = inputs !== this.#certificateInputs;
      this.#certificateInputs = inputs;
      if (isChanged) this.lookAtAll();
      else this.#lookAtPools();
    });
  }

  #scheduleResync(): void {
    this.#cancelResync = this.#clock.after(this.#options.resyncMs ?? DEFAULT_RESYNC_MS, () => {
      this.lookAtAll();
      this.#scheduleResync();
    });
  }
}
