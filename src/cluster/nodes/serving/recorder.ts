/** What a fetch leaves behind: a line of the audit trail, a claim, a note on the Secret, an event. */
import { messageOf } from "../../../base/errors/error.js";
import type { FetchRecorder, Served, Turned } from "../../ignition/server/fetches.js";
import { type Clock, systemClock } from "../../kube/clock.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { eventsPath } from "../event.js";
import type { Secret } from "../objects.js";
import { readTokenSecret } from "../token/token-secret.js";
import { type AuditLine, servedLine, turnedLine } from "./audit-log.js";
import { Batch } from "./batch.js";
import type { ClaimStore } from "./claim-store.js";
import { type Claim, isClaimable } from "./claims.js";
import { claimedSecret, FetchEvents, markReached, namesItsSecret } from "./marks.js";

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
    this.#claims = claims.map((store) => new Batch({ ...batch, write: (items) => store(items, clock.now()) }));
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
      .create(eventsPath(namespace), event)
      .catch((reason: unknown) => onError(`an event was not written: ${messageOf(reason)}`))
      .finally(() => this.#sending.delete(sent));
    this.#sending.add(sent);
  }

  #secretPath(name: string): string {
    const { namespace } = this.#options;
    return `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`;
  }
}
