/** Keeps the valid tokens in step with the token Secrets: makes payloads, rotates tokens, deletes expired Secrets. */

import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "../../../base/clock.js";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { type Grant, makePayload, type Payload, type TokenStore } from "../../ignition/server/tokens.js";
import { isConflict, isNotFound } from "../../kube/errors.js";
import { namedPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { annotation, encoded, pathOf, type Secret, withData } from "../objects.js";
import type { ComposedPayload } from "../payload/compose.js";
import {
  isTokenSecret,
  LONGEST_MESSAGE,
  pack,
  readTokenSecret,
  sizeProblem,
  type TokenSecretView,
  type TokenStep,
  tokenStep,
} from "../token/token-secret.js";
import { WorkQueue } from "../work-queue.js";

/** Throws a DrawbridgeError whose sentence holds no secret. */
export type PayloadSource = (token: TokenSecretView) => Promise<ComposedPayload>;

export interface TokenControllerOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly tokens: TokenStore;
  readonly source: PayloadSource;
  readonly clock?: Clock;
  readonly newToken?: () => string;
  readonly onRotated?: (secret: string) => void;
  readonly onGenerated?: (secret: string, seconds: number) => void;
  /** A payload had to be made because no token of the Secret was known. */
  readonly onMiss?: () => void;
  /** Something new can be served to the workers of the pools. */
  readonly onMade?: () => void;
  readonly onError?: (sentence: string, reason?: unknown) => void;
}

/** A payload is made again after this long: its parts, such as a credential, may change without its Secret. */
const FRESH_FOR_MS = 60_000;

const LONGEST_DELAY_MS = 5 * 60_000;

/** The winner's version reaches us through the watch. */
const AFTER_CONFLICT_MS = 1_000;

interface MadePayload {
  readonly made: ComposedPayload;
  readonly payload: Payload;
  readonly at: number;
}

export class TokenController {
  readonly #options: TokenControllerOptions;
  readonly #clock: Clock;
  readonly #queue: WorkQueue;
  readonly #made = new Map<string, MadePayload>();
  /** The parts of each Secret that others write, by its name. */
  readonly #seen = new Map<string, string>();
  readonly #judged = new WeakSet<Secret>();
  #secrets = new Map<string, Secret>();

  constructor(options: TokenControllerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#queue = new WorkQueue({
      clock: this.#clock,
      longestDelayMs: LONGEST_DELAY_MS,
      work: async (name) => {
        try {
          return await this.#look(name);
        } catch (reason) {
          options.onError?.(`the token Secret ${name}: ${messageOf(reason)}`, reason);
          return "retry";
        }
      },
    });
  }

  /** All Secrets of the namespace, as they are now. */
  changed(items: ReadonlyMap<string, Secret>): void {
    const tokens = [...items.values()].filter(isTokenSecret);
    this.#secrets = new Map(tokens.map((secret) => [secret.metadata?.name ?? "", secret]));
    for (const name of this.#seen.keys()) if (!this.#secrets.has(name)) this.#forget(name);
    for (const [name, secret] of this.#secrets) {
      // Most of the others have not changed since the last time.
      if (this.#judged.has(secret)) continue;
      this.#judged.add(secret);
      const mark = inputs(secret);
      if (this.#seen.get(name) === mark) continue;
      this.#seen.set(name, mark);
      // A changed Secret is looked at now, whatever went wrong before.
      this.#queue.forget(name);
      this.#queue.add(name);
    }
  }

  secret(name: string): Secret | undefined {
    return this.#secrets.get(name);
  }

  /** The payload of a pool's newest Secret, of those that do not expire. */
  currentOf(pool: string): { readonly secret: string; readonly made: ComposedPayload } | undefined {
    const candidates = [...this.#made].flatMap(([secret, { made }]) => {
      const view = readTokenSecret(this.#secrets.get(secret) ?? {});
      const isIts = view.pool !== undefined && pathOf(view.pool) === pool && view.expiresAt === undefined;
      return isIts ? [{ secret, made, at: view.generatedAt ?? 0 }] : [];
    });
    return candidates.sort((a, b) => b.at - a.at)[0];
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  #forget(name: string): void {
    this.#seen.delete(name);
    this.#queue.forget(name);
    this.#revoke(name);
  }

  #revoke(name: string): void {
    this.#options.tokens.revokeSecret(name);
    this.#made.delete(name);
    this.#options.onMade?.();
  }

  async #look(name: string): Promise<number> {
    const secret = this.#secrets.get(name);
    if (secret === undefined) return Number.POSITIVE_INFINITY;
    const clock = this.#clock;
    const { newToken = randomUUID } = this.#options;
    const first = tokenStep(secret, clock.date(), randomUUID);
    if (first.action === "delete") return this.#end(name, first.resourceVersion);
    const before = this.#made.get(name);
    // If another replica rotated the token, the new one is good at once, whether or not the payload can be made again.
    const isKnown = before !== undefined && this.#isAdmitted(name, secret);
    if (isKnown) this.#admit(name, secret, before);
    const current = await this.#payload(name, secret);
    const present = this.#secrets.get(name);
    if (present === undefined) {
      // It was deleted meanwhile, and its tokens with it.
      this.#revoke(name);
      return Number.POSITIVE_INFINITY;
    }
    // Tokens that ran out while no payload could be made are good again when one is made.
    const isFresh = clock.now() - current.at < FRESH_FOR_MS;
    const grant = this.#admit(name, isFresh || isKnown ? present : {}, current);
    if (current.payload !== before?.payload || needsOutcome(secret)) {
      await this.#write(withPayload(secret, current.made.text));
    }
    // What was noted on the Secret meanwhile has to stay on it.
    const step = tokenStep(this.#secrets.get(name) ?? secret, clock.date(), newToken);
    if (step.action === "delete") return clock.date();
    const next = step.action === "keep" ? step.lookAgainAt : await this.#rotate(name, step, grant);
    return Math.min(next, clock.date() + FRESH_FOR_MS);
  }

  #isAdmitted(name: string, secret: Secret): boolean {
    const grants = tokensOf(secret).flatMap((token) => this.#options.tokens.find(token) ?? []);
    return grants.some(isOf(name));
  }

  /** The tokens of the Secret, and no others, get the payload. */
  #admit(name: string, secret: Secret, { payload }: MadePayload): Grant {
    const { tokens } = this.#options;
    const { pool } = readTokenSecret(this.#secrets.get(name) ?? secret);
    const grant: Grant = { payload: () => payload, secret: name, pool: pool === undefined ? "" : pathOf(pool) };
    for (const token of tokensOf(secret)) tokens.admit(token, grant);
    // What is neither of the two was rotated away, perhaps by another replica.
    tokens.revokeOthers(isOf(name), tokensOf(secret));
    return grant;
  }

  /** The Secret's payload, made again when it is no longer fresh; while that fails, the last one. */
  async #payload(name: string, secret: Secret): Promise<MadePayload> {
    const { onError, onGenerated, onMade, onMiss, source } = this.#options;
    const before = this.#made.get(name);
    const began = this.#clock.now();
    if (before !== undefined && began - before.at < FRESH_FOR_MS) return before;
    if (before === undefined) onMiss?.();
    try {
      const made = await source(readTokenSecret(secret));
      const at = this.#clock.now();
      const payload = before?.made.text === made.text ? before.payload : makePayload(made.text);
      const current = { made, payload, at };
      this.#made.set(name, current);
      onGenerated?.(name, (at - began) / 1000);
      onMade?.();
      return current;
    } catch (reason) {
      if (before === undefined) {
        await this.#write(withFailure(secret, reason));
        throw reason;
      }
      onError?.(`the payload of ${name} stays as it was: ${messageOf(reason)}`, reason);
      return before;
    }
  }

  async #end(name: string, resourceVersion: string | undefined): Promise<number> {
    this.#revoke(name);
    try {
      await this.#options.api.delete(this.#path(name), resourceVersion === undefined ? {} : { resourceVersion });
    } catch (reason) {
      if (isConflict(reason)) return this.#clock.date() + AFTER_CONFLICT_MS;
      if (!isNotFound(reason)) throw reason;
    }
    return Number.POSITIVE_INFINITY;
  }

  /** The new token is good before anybody can read it, and is taken back when it was not stored. */
  async #rotate(name: string, step: Extract<TokenStep, { action: "rotate" }>, grant: Grant): Promise<number> {
    const { tokens, onRotated } = this.#options;
    const fresh = readTokenSecret(step.secret).token ?? "";
    tokens.admit(fresh, grant);
    if (!(await this.#write(step.secret, () => tokens.revoke(fresh)))) return this.#clock.date() + AFTER_CONFLICT_MS;
    if (step.revoked !== undefined) tokens.revoke(step.revoked);
    onRotated?.(name);
    return step.lookAgainAt;
  }

  /** False when somebody else wrote first. */
  async #write(secret: Secret | undefined, undo: () => void = () => {}): Promise<boolean> {
    if (secret === undefined) return true;
    const name = secret.metadata?.name ?? "";
    try {
      const stored = await this.#options.api.update(this.#path(name), secret);
      if (this.#secrets.has(name)) this.#secrets.set(name, stored);
      return true;
    } catch (reason) {
      undo();
      if (isConflict(reason) || isNotFound(reason)) return false;
      throw reason;
    }
  }

  #path(name: string): string {
    return namedPath("Secret", { namespace: this.#options.namespace, name });
  }
}

const isOf =
  (name: string) =>
  ({ secret, worker }: Grant): boolean =>
    secret === name && worker === undefined;

function tokensOf(secret: Secret): string[] {
  const { token = "", oldToken = "" } = readTokenSecret(secret);
  return [token, oldToken].filter((each) => each !== "");
}

type Data = Readonly<Record<string, string>>;

function needsOutcome(secret: Secret): boolean {
  const { outcome, upgradeType } = readTokenSecret(secret);
  if (outcome === undefined || outcome.reason === "InvalidConfig") return true;
  return upgradeType === "InPlace" && outcome.reason === "AsExpected" && secret.data?.payload === undefined;
}

/** Our own notes on a Secret are no reason to look at it again. */
function inputs({ data = {}, metadata }: Secret): string {
  const { reason: _reason, message: _message, payload: _payload, ...rest } = data;
  const { [annotation.ignitionReached]: _reached, ...annotations } = metadata?.annotations ?? {};
  return JSON.stringify([rest, annotations, metadata?.uid]);
}

/** The Secret with the outcome, and with the payload where nodes are upgraded in place; undefined when it has both already. */
function withPayload(secret: Secret, text: string): Secret | undefined {
  const { payload: _, ...data } = secret.data ?? {};
  const fine = written(data, { reason: "AsExpected", message: "Payload generated successfully" });
  if (readTokenSecret(secret).upgradeType !== "InPlace") return withData(secret, fine);
  const whole = { ...fine, payload: encoded(pack(text)) };
  const problem = sizeProblem(whole);
  if (problem === undefined) return withData(secret, whole);
  const message = `the payload is served, but upgrades in place need it in this Secret, too, and it ${problem}; make the pool's configuration smaller`;
  return withData(secret, written(data, { reason: "PayloadTooLarge", message }));
}

/** Undefined when that is already known: a failure that repeats must not keep the API server busy. */
function withFailure(secret: Secret, reason: unknown): Secret | undefined {
  const why = messageOf(reason);
  const undecoded = reason instanceof DrawbridgeError && reason.code === "DB_TOKEN_SECRET";
  const message = undecoded ? why : `failed to generate payload: error getting ignition payload: ${why}`;
  return withData(secret, written(secret.data ?? {}, { reason: "InvalidConfig", message }));
}

/** With the outcome that the Ignition server reports to the pool's controller. */
function written(data: Data, { reason, message }: NonNullable<TokenSecretView["outcome"]>): Data {
  return { ...data, reason: encoded(reason), message: encoded(message.slice(0, LONGEST_MESSAGE)) };
}
