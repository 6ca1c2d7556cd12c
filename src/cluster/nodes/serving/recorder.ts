/** Records fetches: a line of the audit log, a claim that the approver reads, a mark on the token Secret, and an event about it. */

import { readFile } from "node:fs/promises";
import { stringify } from "yaml";
import { type Clock, pause, systemClock } from "../../../base/clock.js";
import { messageOf, wrapErrors } from "../../../base/errors/error.js";
import { replaceFile } from "../../../base/files.js";
import type { FetchRecorder, RefusedFetch, ServedFetch } from "../../ignition/server/fetches.js";
import { change, createOrUpdate, find } from "../../kube/objects.js";
import { collectionPath, namedPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { type Claim, INVENTORY_LABEL, readInventory } from "../csr/inventory.js";
import { type LineLog, openLineLog } from "../line-log.js";
import {
  annotation,
  type ConfigMap,
  type EventContent,
  eventAbout,
  type ObjectName,
  readPath,
  type Secret,
  secondTime,
  tokenSecretName,
} from "../objects.js";
import { readTokenSecret } from "../token/token-secret.js";

export interface RecorderOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly audit: (line: AuditLine) => void;
  readonly claims: readonly ClaimStore[];
  /** A directory of objects has no use for events. */
  readonly makesEvents: boolean;
  readonly secret: (name: string) => Secret | undefined;
  readonly onServed?: (fetch: ServedFetch) => void;
  readonly onError: (sentence: string, reason?: unknown) => void;
  readonly clock?: Clock;
}

const CHANGE_ATTEMPTS = 5;
/** One event of a kind is made a minute, because anybody can choose the headers. */
const EVENT_EVERY_MS = 60_000;

export class Recorder implements FetchRecorder {
  readonly #options: RecorderOptions;
  readonly #claims: readonly Batch<Claim>[];
  readonly #reached: Batch<string>;
  /** When an event of that Secret, reason and message was last made. */
  readonly #lastEvents = new Map<string, number>();
  /** Uids of the Secrets that were marked, so that two thousand machines cause one request. */
  readonly #marked = new Set<string>();
  readonly #sending = new Set<Promise<unknown>>();

  constructor(options: RecorderOptions) {
    this.#options = options;
    const { claims, clock = systemClock } = options;
    const report = (what: string) => (reason: unknown) => options.onError(`${what}: ${messageOf(reason)}`, reason);
    this.#claims = claims.map(
      (store) => new Batch((items) => store(items, clock.date()), report("claims wait to be recorded"), clock),
    );
    this.#reached = new Batch(
      async (names) => {
        for (const name of new Set(names)) await this.#markReached(name);
      },
      report("a Secret was not marked as reached yet"),
      clock,
    );
  }

  served(fetch: ServedFetch): void {
    const { at, claimed, pool, secret: name, worker } = fetch;
    this.#audit(servedLine(fetch));
    const claim = { pool, at, ...(worker === undefined ? {} : { worker }), ...servedHash(pool, name) };
    if (isClaimable(pool)) for (const batch of this.#claims) batch.add(claim);
    this.#options.onServed?.(fetch);
    if (claimed.pool !== pool || claimedSecret(claimed) !== name) return;
    const secret = this.#options.secret(name);
    if (secret === undefined) return;
    // One of the same name may have been there before.
    const { uid = "" } = secret.metadata ?? {};
    if (!readTokenSecret(secret).reached && !this.#marked.has(uid)) {
      this.#marked.add(uid);
      this.#reached.add(name);
    }
    this.#sendEvent(at, name, secret, { type: "Normal", reason: "GetPayload", message: "" });
  }

  refused(fetch: RefusedFetch): void {
    this.#audit(refusedLine(fetch));
    const name = claimedSecret(fetch.claimed);
    const secret = name === undefined ? undefined : this.#options.secret(name);
    if (name === undefined || secret === undefined) return;
    this.#sendEvent(fetch.at, name, secret, { type: "Warning", reason: "GetPayloadFailed", message: fetch.why });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#claims, this.#reached].map((batch) => batch.close()));
    await Promise.all(this.#sending);
  }

  #audit(line: AuditLine): void {
    try {
      this.#options.audit(line);
    } catch (reason) {
      this.#options.onError(messageOf(reason), reason);
    }
  }

  async #markReached(name: string): Promise<void> {
    const { api, namespace } = this.#options;
    await change<Secret>(api, namedPath("Secret", { namespace, name }), CHANGE_ATTEMPTS, (secret) => {
      if (readTokenSecret(secret).reached) return undefined;
      const annotations = { ...secret.metadata?.annotations, [annotation.ignitionReached]: "True" };
      return { ...secret, metadata: { ...secret.metadata, annotations } };
    });
  }

  #sendEvent(at: number, name: string, { metadata }: Secret, content: EventContent): void {
    const { api, makesEvents, namespace, onError } = this.#options;
    const key = `${name} ${content.reason} ${content.message}`;
    if (!makesEvents || at - (this.#lastEvents.get(key) ?? Number.NEGATIVE_INFINITY) < EVENT_EVERY_MS) return;
    this.#lastEvents.set(key, at);
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { namespace, name, uid: metadata?.uid ?? "" } };
    const sent = api
      .create(collectionPath("Event", namespace), eventAbout(secret, content, "ignition-server", at))
      .catch((reason: unknown) => onError(`an event was not written: ${messageOf(reason)}`, reason))
      .finally(() => this.#sending.delete(sent));
    this.#sending.add(sent);
  }
}

/** The Secret whose payload it was ends with the configuration's hash. */
function servedHash(pool: string, secret: string): Pick<Claim, "hash"> {
  const prefix = tokenSecretName(readPath(pool)?.name ?? "", "");
  return secret.startsWith(prefix) && secret.length > prefix.length ? { hash: secret.slice(prefix.length) } : {};
}

/** The Secret that a machine's headers name; a forged pool of the same name elsewhere is none of ours. */
function claimedSecret({ pool, targetConfigVersion }: ServedFetch["claimed"]): string | undefined {
  const path = readPath(pool);
  return path === undefined || !targetConfigVersion ? undefined : tokenSecretName(path.name, targetConfigVersion);
}

/** One fetch in the audit log. It holds no token. */
type AuditLine = Readonly<Record<string, string>>;

export const openAuditLog = (path: string): LineLog<AuditLine> => openLineLog("audit log", path, "DB_IGNITION_AUDIT");

function servedLine({ at, claimed, pool, remote, secret, worker }: ServedFetch): AuditLine {
  const who = worker === undefined ? {} : { worker };
  return { at: new Date(at).toISOString(), outcome: "served", remote, pool, secret, ...who, ...headersOf(claimed) };
}

function refusedLine({ at, claimed, remote, why }: RefusedFetch): AuditLine {
  return { at: new Date(at).toISOString(), outcome: "refused", remote, why, ...headersOf(claimed) };
}

/** Strangers may send headers of any length. */
const LONGEST_HEADER = 256;

function headersOf({ pool, targetConfigVersion }: ServedFetch["claimed"]): AuditLine {
  return {
    ...(pool === undefined ? {} : { saidPool: pool.slice(0, LONGEST_HEADER) }),
    ...(targetConfigVersion === undefined ? {} : { saidHash: targetConfigVersion.slice(0, LONGEST_HEADER) }),
  };
}

const GATHER_MS = 250;
/** Machines whose fetch nobody knows of are not let in: after an outage they must not wait for long. */
const LONGEST_DELAY_MS = 5_000;
/** The oldest are dropped first: an outage must not become a shortage of memory. */
const MOST_WAITING = 50_000;

/** Collects items that arrive close together and writes them together; items that cannot be written are tried again. */
class Batch<T> {
  readonly #write: (items: readonly T[]) => Promise<void>;
  readonly #onError: (reason: unknown) => void;
  readonly #clock: Clock;
  readonly #stopped = new AbortController();
  #waiting: T[] = [];
  #running: Promise<void> | undefined;

  constructor(write: (items: readonly T[]) => Promise<void>, onError: (reason: unknown) => void, clock: Clock) {
    this.#write = write;
    this.#onError = onError;
    this.#clock = clock;
  }

  add(item: T): void {
    this.#waiting.push(item);
    if (this.#waiting.length > MOST_WAITING) this.#waiting.shift();
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** Tries once more to write what is waiting. */
  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    await this.#writeAll();
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (this.#waiting.length > 0 && !this.#stopped.signal.aborted) {
      await pause(this.#clock, Math.min(LONGEST_DELAY_MS, GATHER_MS * 2 ** failures), this.#stopped.signal);
      failures = (await this.#writeAll()) ? 0 : failures + 1;
    }
  }

  async #writeAll(): Promise<boolean> {
    const items = this.#waiting;
    if (items.length === 0) return true;
    this.#waiting = [];
    try {
      await this.#write(items);
      return true;
    } catch (reason) {
      this.#waiting = [...items, ...this.#waiting];
      this.#onError(reason);
      return false;
    }
  }
}

/** The newest of each worker, and of those without a name, is as good as all of them. */
type Claims = ReadonlyMap<string, Claim>;

/** Together they must fit into a ConfigMap, which may have a megabyte. */
const MOST = 10_000;
/** Longer than anybody waits for a machine to boot. */
const KEPT_MS = 7 * 24 * 60 * 60_000;

export function withClaims(claims: Claims, added: Iterable<Claim>, now: number): Claims {
  const result = new Map(claims);
  for (const claim of added) {
    const key = keyOf(claim);
    if ((result.get(key)?.at ?? 0) < claim.at) result.set(key, claim);
  }
  const newestFirst = [...result].sort(([, a], [, b]) => b.at - a.at).slice(0, MOST);
  return new Map(newestFirst.filter(([, { at }]) => now - at <= KEPT_MS));
}

/** One document for each pool. */
export function writeClaims(claims: Claims): string {
  const pools = new Map<string, object[]>();
  for (const { at, hash, pool, worker } of [...claims.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) {
    const entry = { ...(worker === undefined ? {} : { worker }), at: secondTime(at), ...(hash && { hash }) };
    pools.set(pool, [...(pools.get(pool) ?? []), entry]);
  }
  return [...pools].map(([pool, list]) => stringify({ pool, claims: list })).join("---\n");
}

/** Whether an inventory can name the pool: a name that it cannot have would make all of it unreadable. */
function isClaimable(pool: string): boolean {
  return /^[^/\s]+\/[^/\s]+$/.test(pool);
}

/** The claims that an earlier write left; text that is no inventory counts as none and is written over. */
function readClaims(text: string): Claims {
  try {
    const { claims } = readInventory([{ where: "the claims", text }]);
    return new Map(claims.map((claim) => [keyOf(claim), claim]));
  } catch {
    return new Map();
  }
}

function keyOf({ pool, worker = "" }: Claim): string {
  return `${pool} ${worker}`;
}

/** Adds to the claims of a file or a ConfigMap; rejects, and changes nothing, when that is not possible now. */
export type ClaimStore = (claims: readonly Claim[], now: number) => Promise<void>;

export function claimsInFile(path: string): ClaimStore {
  return (claims, now) =>
    wrapErrors("DB_IGNITION_AUDIT", "the claims cannot be written", async () => {
      const before = await readFile(path, "utf8").catch((reason: NodeJS.ErrnoException) => {
        if (reason.code === "ENOENT") return "";
        throw reason;
      });
      await replaceFile(path, writeClaims(withClaims(readClaims(before), claims, now)), 0o600);
    });
}

/** Replicas share it: a write over somebody else's fails and is tried again. */
export function claimsInConfigMap(api: KubeApi, name: ObjectName): ClaimStore {
  return async (claims, now) => {
    const found = await find<ConfigMap>(api, namedPath("ConfigMap", name));
    const text = writeClaims(withClaims(readClaims(found?.data?.claims ?? ""), claims, now));
    const labels = { ...found?.metadata?.labels, [INVENTORY_LABEL]: "true" };
    const map = { ...found, metadata: { ...found?.metadata, ...name, labels }, data: { ...found?.data, claims: text } };
    await createOrUpdate<ConfigMap>(api, "ConfigMap", map);
  };
}
