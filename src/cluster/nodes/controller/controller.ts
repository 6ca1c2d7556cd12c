/** Keeps every pool of a namespace as its object says: watches, queues, passes. */

import { isDeepStrictEqual } from "node:util";
import { type Clock, systemClock } from "../../../base/clock.js";
import { messageOf } from "../../../base/errors/error.js";
import { isConflict, isNotFound } from "../../kube/errors.js";
import { ListWatch } from "../../kube/list-watch.js";
import { deleteIfPresent, find } from "../../kube/objects.js";
import { collectionPath, type Kind, namedPath, objectPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import {
  annotation,
  type ConfigMap,
  nameOf,
  type ObjectWrite,
  readPath,
  type Secret,
  secretNames,
} from "../objects.js";
import { isClusterObject, type PassInput, passInputOf, secretsOf, type View } from "../pool/input.js";
import type { NodePool } from "../pool/node-pool.js";
import { type ReconcileResult, reconcile } from "../pool/reconcile.js";
import { cleanUpWrites, type WantedSecrets } from "../token/token-secret.js";
import { type WorkOutcome, WorkQueue } from "../work-queue.js";
import { type CredentialIssuer, keepCredential } from "./bootstrap.js";
import { issuedInputs, keepCertificate } from "./certificate.js";

export interface PoolControllerOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  /** Only the leader writes. */
  readonly leading: () => boolean;
  /** Rejects while the pools are not ours, or while nobody can tell. If undefined, they are. */
  readonly requireOurs?: (() => Promise<void>) | undefined;
  readonly clock?: Clock;
  readonly newToken?: () => string;
  /** A pass over everything is made after this long even without a change. */
  readonly resyncMs?: number;
  readonly silenceMs?: number;
  /** Whether the Ignition server's certificate is issued here. */
  readonly issuesCertificate?: boolean;
  /** Where the credential comes from that machines join with. If undefined, it is made by somebody else. */
  readonly credentialIssuer?: CredentialIssuer | undefined;
  readonly onIssued?: (sentence: string, reason?: unknown) => void;
  readonly onPass?: (key: string, outcome: WorkOutcome) => void;
  /** A pass over a pool, or over the credential of a cluster, failed; the same sentence is reported once. */
  readonly onFailure?: (about: NodePool | ConfigMap, sentence: string) => void;
  readonly onError?: (sentence: string, reason?: unknown) => void;
}

const DEFAULT_RESYNC_MS = 10 * 60_000;
/** Changes that come together are followed by one pass. */
const GATHER_MS = 20;
/** No pools' keys: those have a slash. */
const CERTIFICATE_KEY = "certificate";
const CREDENTIAL_KEY = "bootstrap-credential";
const OWNERSHIP_KEY = "ownership";
const ASK_AGAIN_MS = 5000;

export class PoolController {
  readonly #options: PoolControllerOptions;
  readonly #clock: Clock;
  readonly #queue: WorkQueue;
  readonly #writer: Writer;
  readonly #pools: ListWatch<NodePool>;
  readonly #configMaps: ListWatch<ConfigMap>;
  readonly #secrets: ListWatch<Secret>;
  readonly #watches: readonly ListWatch<KubeObject>[];
  #isOurs: boolean;
  #issuedInputs = "";
  #credentialEnd: number | undefined;
  #cancelGathering: (() => void) | undefined;
  #cancelResync: (() => void) | undefined;
  #stopped = false;
  /** The last complaint about each key, so that a failure that repeats is reported once. */
  readonly #complaints = new Map<string, string>();

  constructor(options: PoolControllerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#isOurs = options.requireOurs === undefined;
    this.#writer = new Writer(options.api, () => this.leads);
    this.#queue = new WorkQueue({
      clock: this.#clock,
      work: (key) => this.#pass(key),
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

  /** Whether this replica writes: it leads, and the pools are ours. */
  get leads(): boolean {
    return this.#isOurs && this.#options.leading();
  }

  /** When the credential that machines join with ends, in milliseconds since 1970; undefined where that is not known. */
  get credentialEnd(): number | undefined {
    return this.#credentialEnd;
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

  /** After becoming the leader. Whether the pools are ours is asked again, until it is so: HyperShift may have been installed. */
  takeOver(): void {
    this.#isOurs = false;
    this.#queue.add(OWNERSHIP_KEY);
  }

  async #askOwnership(): Promise<WorkOutcome> {
    const { leading, onError, requireOurs } = this.#options;
    if (!leading()) return "wait";
    try {
      await requireOurs?.();
    } catch (reason) {
      onError?.(messageOf(reason), reason);
      return this.#clock.date() + ASK_AGAIN_MS;
    }
    this.#isOurs = true;
    this.lookAtAll();
    return "wait";
  }

  /** Every pool, and every pool that is gone and left Secrets. */
  lookAtAll(): void {
    if (!this.synced) return;
    if (this.#options.issuesCertificate) this.#queue.add(CERTIFICATE_KEY);
    if (this.#options.credentialIssuer !== undefined) this.#queue.add(CREDENTIAL_KEY);
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
    const { credentialIssuer: issuer, namespace, newToken, onIssued, onPass } = this.#options;
    if (key === OWNERSHIP_KEY) return this.#askOwnership();
    if (!this.synced || !this.leads) return "wait";
    const complaints: string[] = [];
    let cause: unknown;
    const onError = (sentence: string, reason?: unknown) => {
      complaints.push(sentence);
      cause ??= reason;
    };
    const given = { view: this.view, writer: this.#writer, now: () => this.#clock.date(), onError };
    const outcome = await attempted(onError, async () => {
      if (key === CREDENTIAL_KEY && issuer !== undefined)
        return keepCredential({
          ...given,
          namespace,
          issuer,
          onIssued,
          onEnd: (until) => (this.#credentialEnd = until),
        });
      if (key !== CERTIFICATE_KEY) return pass(key, { ...given, newToken });
      await keepCertificate({ ...given, namespace, onIssued });
      return "wait";
    });
    // A pass that only came too late, and is repeated, says nothing about earlier complaints.
    const isRepeat = outcome === "retry";
    if (!isRepeat || complaints.length > 0) this.#complain(key, complaints.join("; "), isRepeat, cause);
    onPass?.(key, outcome);
    return outcome;
  }

  /** An empty sentence means that all is well again. */
  #complain(key: string, sentence: string, isFailure: boolean, cause: unknown): void {
    if ((this.#complaints.get(key) ?? "") === sentence) return;
    if (sentence === "") return void this.#complaints.delete(key);
    this.#complaints.set(key, sentence);
    const isPool = key !== CERTIFICATE_KEY && key !== CREDENTIAL_KEY;
    this.#options.onError?.(isPool ? `pool ${key}: ${sentence}` : sentence, cause);
    const about =
      key === CREDENTIAL_KEY ? [...this.#configMaps.items.values()].find(isClusterObject) : this.#pools.items.get(key);
    if ((isFailure || !isPool) && about !== undefined) this.#options.onFailure?.(about, sentence);
  }

  #watched<T extends KubeObject>(kind: Kind): ListWatch<T> {
    const { api, namespace, onError, silenceMs } = this.#options;
    return new ListWatch<T>({
      api,
      clock: this.#clock,
      path: collectionPath(kind, namespace),
      ...(silenceMs === undefined ? {} : { silenceMs }),
      onChange: () => this.#gather(),
      onError: (reason) => onError?.(messageOf(reason), reason),
    });
  }

  #gather(): void {
    if (this.#stopped || !this.synced || this.#cancelGathering !== undefined) return;
    this.#cancelGathering = this.#clock.after(GATHER_MS, () => {
      this.#cancelGathering = undefined;
      const inputs = issuedInputs(this.view);
      const isChanged = inputs !== this.#issuedInputs;
      this.#issuedInputs = inputs;
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

interface PassOptions {
  readonly view: View;
  readonly writer: Writer;
  readonly now: () => number;
  readonly newToken: (() => string) | undefined;
  readonly onError: (sentence: string, reason?: unknown) => void;
}

/** One pass over one pool: decide, write, report the status, and clean up Secrets that nothing refers to any more. */
export async function pass(key: string, options: PassOptions): Promise<WorkOutcome> {
  const input = passInputOf(options.view, key, options.newToken);
  if (input !== undefined) return passOver(key, input, options);
  const name = readPath(key);
  const isGone = name === undefined || (await options.writer.isGone(namedPath("NodePool", name)));
  await cleanUp(key, isGone ? "no pool" : undefined, options);
  return "wait";
}

type Report = (sentence: string, reason?: unknown) => void;

/** A failure is reported and retried. A conflict is only retried: the next pass sees what somebody else wrote. */
export async function attempted(onError: Report, run: () => Promise<WorkOutcome>): Promise<WorkOutcome> {
  try {
    return await run();
  } catch (reason) {
    if (reason instanceof LeadershipLost) return "wait";
    if (!isConflict(reason)) onError(messageOf(reason), reason);
    return "retry";
  }
}

async function passOver(key: string, input: PassInput, options: PassOptions): Promise<WorkOutcome> {
  const result = reconcile(input, options.now());
  const { failure, pool } = await performAll(input.pool, result, options.writer);
  // Also after a failure, so that the conditions say what was found.
  if (pool !== undefined) await report(input.pool, pool, result, failure === undefined, options.writer);
  if (failure !== undefined) throw failure;
  await cleanUp(key, await wantedSecrets(input, pool, result, options.writer), options);
  const { requeueAt, stopped } = result;
  if (stopped !== undefined) options.onError(stopped.because);
  if (stopped?.retry === true) return "retry";
  return requeueAt === undefined ? "wait" : requeueAt;
}

/** The pool as it is after the writes; undefined when they let it go. */
async function performAll(before: NodePool, { writes }: ReconcileResult, writer: Writer) {
  let pool: NodePool | undefined = before;
  try {
    for (const write of writes) {
      const written = await writer.perform(write);
      if (write.object.kind === "NodePool") pool = written as NodePool;
    }
    // Its last finalizer went: the API has deleted it, whatever it answered.
    const isGone = before.metadata?.deletionTimestamp !== undefined && !pool?.metadata?.finalizers?.length;
    return { pool: isGone ? undefined : pool, failure: undefined };
  } catch (failure) {
    if (failure instanceof LeadershipLost) throw failure;
    return { pool, failure };
  }
}

async function report(before: NodePool, pool: NodePool, result: ReconcileResult, done: boolean, writer: Writer) {
  const version = done ? result.version : before.status?.version;
  const status = {
    ...before.status,
    conditions: result.conditions,
    ...(version === undefined ? {} : { version }),
  };
  if (isDeepStrictEqual(status, before.status ?? { conditions: [] })) return;
  await writer.updateStatus({ ...pool, status });
}

async function wantedSecrets(
  input: PassInput,
  pool: NodePool | undefined,
  { requeueAt, stopped }: ReconcileResult,
  writer: Writer,
): Promise<WantedSecrets> {
  if (pool === undefined || pool.metadata?.deletionTimestamp !== undefined) return undefined;
  const { namespace, name } = nameOf(pool);
  if (input.cluster === undefined) {
    const path = namedPath("ConfigMap", { namespace, name: pool.spec?.clusterName ?? "" });
    return (await writer.isGone(path)) ? [] : undefined;
  }
  if (input.cluster.deleting) return [];
  const hash = pool.metadata?.annotations?.[annotation.currentConfigVersion];
  const isPaused = pool.spec?.pausedUntil?.toLowerCase() === "true";
  // A pass that ended early, or a pause, says nothing about which Secrets are wanted.
  if (stopped !== undefined || requeueAt !== undefined || isPaused || hash === undefined) return undefined;
  return secretNames(name, hash);
}

async function cleanUp(key: string, wanted: WantedSecrets, { now, view, writer }: PassOptions): Promise<void> {
  const writes = secretsOf(view, key).flatMap((secret) => cleanUpWrites(secret, wanted, now()));
  for (const write of writes) await writer.perform(write);
}

/** Another replica leads now, and does what is left to do. */
export class LeadershipLost extends Error {
  override readonly message = "another replica leads now";
}

/** Writes what a pass decided, on the condition that nothing changed since, and only while this replica leads. */
export class Writer {
  readonly #api: KubeApi;
  readonly #leading: () => boolean;

  constructor(api: KubeApi, leading: () => boolean) {
    this.#api = api;
    this.#leading = leading;
  }

  /** As the API has it afterwards; undefined when it is gone. */
  async perform({ object, verb }: ObjectWrite): Promise<KubeObject | undefined> {
    this.#mustLead();
    if (verb === "create") {
      return this.#api.create(collectionPath(object.kind as Kind, object.metadata?.namespace ?? ""), object);
    }
    if (verb === "update") return this.#api.update(objectPath(object), object);
    // What is gone already is as it should be.
    const resourceVersion = object.metadata?.resourceVersion;
    await deleteIfPresent(this.#api, objectPath(object), resourceVersion === undefined ? {} : { resourceVersion });
    return undefined;
  }

  async updateStatus<T extends KubeObject>(object: T): Promise<void> {
    this.#mustLead();
    try {
      await this.#api.update(`${objectPath(object)}/status`, object);
    } catch (reason) {
      if (!isNotFound(reason)) throw reason;
    }
  }

  /** Asks the API itself: a copy that lags behind must not make us delete what is needed. */
  async isGone(path: string): Promise<boolean> {
    return (await find(this.#api, path)) === undefined;
  }

  #mustLead(): void {
    if (!this.#leading()) throw new LeadershipLost();
  }
}
