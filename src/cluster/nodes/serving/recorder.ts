/** What a fetch leaves behind: a line of the audit trail, a claim, a note on the Secret, an event. */

import { closeSync, openSync, writeSync } from "node:fs";
import { type Clock, pause, systemClock } from "../../../base/clock.js";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import type { FetchRecorder, Served, Turned } from "../../ignition/server/fetches.js";
import { change } from "../../kube/change.js";
import { collectionPath, namedPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { annotation, eventAbout, type Happening, type Secret, tokenSecretName } from "../objects.js";
import { readPath, readTokenSecret } from "../token/token-secret.js";
import { type Claim, type ClaimStore, isClaimable } from "./claims.js";

export interface RecorderOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly audit: (line: AuditLine) => void;
  readonly claims: readonly ClaimStore[];
  /** A directory of objects has no use for events. */
  readonly makesEvents: boolean;
  readonly secret: (name: string) => Secret | undefined;
  readonly onServed?: (fetch: Served) => void;
  readonly onError: (sentence: string) => void;
  readonly clock?: Clock;
}

export class Recorder implements FetchRecorder {
  readonly #options: RecorderOptions;
  readonly #claims: readonly Batch<Claim>[];
  readonly #reached: Batch<string>;
  readonly #events: FetchEvents;
  /** By uid, so that two thousand machines do not ask the API two thousand times. */
  readonly #marked = new Set<string>();
  readonly #sending = new Set<Promise<unknown>>();

  constructor(options: RecorderOptions) {
    this.#options = options;
    const { api, claims, clock = systemClock, namespace } = options;
    const onError = (what: string) => (reason: unknown) => options.onError(`${what}: ${messageOf(reason)}`);
    const batch = { clock, onError: onError("claims wait to be recorded") };
    this.#claims = claims.map((store) => new Batch({ ...batch, write: (items) => store(items, clock.date()) }));
    this.#reached = new Batch({
      clock,
      onError: onError("a Secret was not marked as reached yet"),
      write: async (names) => {
        for (const name of new Set(names)) await markReached(api, this.#secretPath(name));
      },
    });
    this.#events = new FetchEvents(namespace);
  }

  served(fetch: Served): void {
    const { at, pool, secret: name, worker } = fetch;
    this.#audit(servedLine(fetch));
    const claim = { pool, at, ...(worker === undefined ? {} : { worker }) };
    if (isClaimable(pool)) for (const batch of this.#claims) batch.add(claim);
    this.#options.onServed?.(fetch);
    if (!namesItsSecret(fetch)) return;
    const secret = this.#options.secret(name);
    if (secret === undefined) return;
    // One of the same name may have been there before.
    const { uid = "" } = secret.metadata ?? {};
    if (!readTokenSecret(secret).reached && !this.#marked.has(uid)) {
      this.#marked.add(uid);
      this.#reached.add(name);
    }
    this.#send(this.#events.served(fetch, uid));
  }

  turnedAway(fetch: Turned): void {
    this.#audit(turnedLine(fetch));
    const name = claimedSecret(fetch.claimed);
    const secret = name === undefined ? undefined : this.#options.secret(name);
    if (name === undefined || secret === undefined) return;
    this.#send(this.#events.turnedAway(fetch, name, secret.metadata?.uid ?? ""));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#claims, this.#reached].map((batch) => batch.close()));
    await Promise.all(this.#sending);
  }

  #audit(line: AuditLine): void {
    try {
      this.#options.audit(line);
    } catch (reason) {
      this.#options.onError(messageOf(reason));
    }
  }

  #send(event: KubeObject | undefined): void {
    const { api, makesEvents, namespace, onError } = this.#options;
    if (event === undefined || !makesEvents) return;
    const sent = api
      .create(collectionPath("Event", namespace), event)
      .catch((reason: unknown) => onError(`an event was not written: ${messageOf(reason)}`))
      .finally(() => this.#sending.delete(sent));
    this.#sending.add(sent);
  }

  #secretPath(name: string): string {
    const { namespace } = this.#options;
    return namedPath("Secret", { namespace, name });
  }
}

// Notes on token Secrets what machines did: that one came, and, as events, how it fared.

type Claimed = Served["claimed"];

/** The Secret that a machine's headers name; a forged pool of the same name elsewhere is none of ours. */
function claimedSecret({ pool, targetConfigVersion }: Claimed): string | undefined {
  const path = readPath(pool);
  return path === undefined || !targetConfigVersion ? undefined : tokenSecretName(path.name, targetConfigVersion);
}

function namesItsSecret({ claimed, pool, secret }: Served): boolean {
  return claimed.pool === pool && claimedSecret(claimed) === secret;
}

const ATTEMPTS = 5;

/** Once is enough; resolves to whether it wrote. */
async function markReached(api: KubeApi, path: string): Promise<boolean> {
  const changed = await change<Secret>(api, path, ATTEMPTS, (secret) => {
    if (readTokenSecret(secret).reached) return undefined;
    const annotations = { ...secret.metadata?.annotations, [annotation.ignitionReached]: "True" };
    return { ...secret, metadata: { ...secret.metadata, annotations } };
  });
  return changed?.isWritten ?? false;
}

const EVENT_EVERY_MS = 60_000;

/** Events about Secrets that exist, and of each kind one a minute: strangers choose the headers. */
class FetchEvents {
  readonly #namespace: string;
  readonly #last = new Map<string, number>();

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  served({ at, secret }: Served, uid: string): KubeObject | undefined {
    return this.#event(at, secret, uid, { type: "Normal", reason: "GetPayload", message: "" });
  }

  turnedAway({ at, why }: Turned, secret: string, uid: string): KubeObject | undefined {
    return this.#event(at, secret, uid, { type: "Warning", reason: "GetPayloadFailed", message: why });
  }

  #event(at: number, name: string, uid: string, what: Happening) {
    const key = `${name} ${what.reason} ${what.message}`;
    if (at - (this.#last.get(key) ?? Number.NEGATIVE_INFINITY) < EVENT_EVERY_MS) return undefined;
    this.#last.set(key, at);
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { namespace: this.#namespace, name, uid } };
    return eventAbout(secret, what, "ignition-server", at);
  }
}

// The trail of fetches: one JSON object a line, appended and never changed. It holds no token.

interface AuditLog {
  /** With the operating system when it returns. Throws DB_IGNITION_AUDIT. */
  write(line: AuditLine): void;
  close(): void;
}

type AuditLine = Readonly<Record<string, string>>;

function servedLine({ at, claimed, pool, remote, secret, worker }: Served): AuditLine {
  const time = new Date(at).toISOString();
  return {
    at: time,
    outcome: "served",
    remote,
    pool,
    secret,
    ...(worker === undefined ? {} : { worker }),
    ...said(claimed),
  };
}

function turnedLine({ at, claimed, remote, why }: Turned): AuditLine {
  return { at: new Date(at).toISOString(), outcome: "refused", remote, why, ...said(claimed) };
}

/** What strangers say of themselves may be long. */
const LONGEST_SAID = 256;

function said({ pool, targetConfigVersion }: Served["claimed"]): AuditLine {
  return {
    ...(pool === undefined ? {} : { saidPool: pool.slice(0, LONGEST_SAID) }),
    ...(targetConfigVersion === undefined ? {} : { saidHash: targetConfigVersion.slice(0, LONGEST_SAID) }),
  };
}

export function openAuditLog(path: string): AuditLog {
  const failed = (reason: unknown) =>
    new DrawbridgeError("DB_IGNITION_AUDIT", `the audit log ${path} cannot be written: ${messageOf(reason)}`);
  let file: number;
  try {
    file = openSync(path, "a", 0o600);
  } catch (reason) {
    throw failed(reason);
  }
  return {
    write: (line) => {
      try {
        writeSync(file, `${JSON.stringify(line)}\n`);
      } catch (reason) {
        throw failed(reason);
      }
    },
    close: () => closeSync(file),
  };
}

// Collects what comes in a rush and hands it on together; what cannot be handed on is kept and tried again.

interface BatchOptions<T> {
  readonly write: (items: readonly T[]) => Promise<void>;
  readonly onError: (reason: unknown) => void;
  readonly clock?: Clock;
}

const GATHER_MS = 250;
const LONGEST_DELAY_MS = 30_000;
/** The oldest go first: an outage must not become a shortage of memory. */
const MOST = 50_000;

class Batch<T> {
  readonly #options: BatchOptions<T>;
  readonly #clock: Clock;
  readonly #stopped = new AbortController();
  #waiting: T[] = [];
  #running: Promise<void> | undefined;

  constructor(options: BatchOptions<T>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  add(item: T): void {
    this.#waiting.push(item);
    if (this.#waiting.length > MOST) this.#waiting.shift();
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** Tries once more to hand on what there is. */
  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    await this.#hand();
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (this.#waiting.length > 0 && !this.#stopped.signal.aborted) {
      await pause(this.#clock, Math.min(LONGEST_DELAY_MS, GATHER_MS * 2 ** failures), this.#stopped.signal);
      failures = (await this.#hand()) ? 0 : failures + 1;
    }
  }

  async #hand(): Promise<boolean> {
    const items = this.#waiting;
    if (items.length === 0) return true;
    this.#waiting = [];
    try {
      await this.#options.write(items);
      return true;
    } catch (reason) {
      this.#waiting = [...items, ...this.#waiting];
      this.#options.onError(reason);
      return false;
    }
  }
}
