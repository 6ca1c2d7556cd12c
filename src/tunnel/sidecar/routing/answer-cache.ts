/** What resolvers answered, so that they are not asked for every connection. */
import { systemClock } from "../../../base/clock.js";
import { step } from "../../outgoing/connected.js";

export interface ResolverAnswer {
  /** Empty: the name has none. */
  readonly addresses: readonly string[];
  /** For how long this may be believed; undefined: it did not say. */
  readonly ttlMs: number | undefined;
}

/** Rejects when there is no answer, which is never cached. */
export type ResolverQuery = (name: string, stop: AbortSignal) => Promise<ResolverAnswer>;

/** For how long answers are believed, and how many: an answer's own time to live counts up to `maxMs`. */
export const ANSWER_LIFE = {
  entries: 1024,
  maxMs: 300_000,
  /** For answers that name no time of their own. */
  defaultMs: 30_000,
  /** For names that do not exist, at most. */
  negativeMs: 10_000,
  /** How long callers wait for the answer after a known one, before they get the known one once more. */
  patienceMs: 1_000,
  /** For how long a known answer is used so while its resolver does not answer or fails. */
  staleMs: 600_000,
  /** After that has happened, for how long without asking again. */
  recheckMs: 5_000,
};

export interface AnswerCacheOptions extends Readonly<typeof ANSWER_LIFE> {
  readonly now: () => number;
  /** For one question, whoever waits for it. */
  readonly timeoutMs: number;
}

interface Known {
  readonly addresses: readonly string[];
  /** Until when it is believed, and until when it is better than none. */
  until: number;
  readonly staleUntil: number;
}

/**
 * Answers of one resolver, kept for their time to live; each name has one query at a time. While the resolver is silent
 * or fails, what it said before is used further, as RFC 8767 has it: a Service keeps its address for as long as it lives.
 */
export class AnswerCache {
  readonly #query: ResolverQuery;
  readonly #options: AnswerCacheOptions;
  /** Least recently used first. */
  readonly #known = new Map<string, Known>();
  readonly #pending = new Map<string, Promise<readonly string[]>>();

  constructor(query: ResolverQuery, options: AnswerCacheOptions) {
    this.#query = query;
    this.#options = options;
  }

  /** `fresh` passes over what is remembered. Stopping one caller does not stop the others that wait for the same name. */
  async find(name: string, stop: AbortSignal, fresh = false): Promise<readonly string[]> {
    stop.throwIfAborted();
    const key = name.toLowerCase();
    const known = fresh ? undefined : this.#recall(key);
    if (known !== undefined && this.#options.now() < known.until) return known.addresses;
    let pending = this.#pending.get(key);
    if (pending === undefined) {
      pending = this.#ask(key).finally(() => this.#pending.delete(key));
      this.#pending.set(key, pending);
    }
    const answer = unlessStopped(pending, stop);
    return await (known === undefined ? answer : this.#orKnown(known, answer, stop));
  }

  forget(name: string): void {
    this.#known.delete(name.toLowerCase());
  }

  #recall(key: string): Known | undefined {
    const known = this.#known.get(key);
    if (known === undefined) return undefined;
    this.#known.delete(key);
    if (known.staleUntil <= this.#options.now()) return undefined;
    this.#known.set(key, known);
    return known;
  }

  /** Rejects with nothing but the reason of `stop`. */
  async #orKnown(known: Known, answer: Promise<readonly string[]>, stop: AbortSignal): Promise<readonly string[]> {
    const { patienceMs, recheckMs, now } = this.#options;
    let cancel = () => {};
    const late = new Promise<undefined>((resolve) => {
      cancel = systemClock.after(patienceMs, () => resolve(undefined), true);
    });
    const found = await Promise.race([answer.catch(() => undefined), late]).finally(() => cancel());
    stop.throwIfAborted();
    if (found !== undefined) return found;
    known.until = Math.min(now() + recheckMs, known.staleUntil);
    return known.addresses;
  }

  async #ask(key: string): Promise<readonly string[]> {
    const { timeoutMs } = this.#options;
    const late = new AbortController();
    const cancel = systemClock.after(timeoutMs, () => late.abort());
    try {
      const answer = await unlessStopped(this.#query(key, late.signal), late.signal);
      this.#remember(key, answer);
      return answer.addresses;
    } catch (reason) {
      throw late.signal.aborted ? new Error(`no answer within ${timeoutMs} ms`) : reason;
    } finally {
      cancel();
    }
  }

  #remember(key: string, { addresses, ttlMs }: ResolverAnswer): void {
    const { entries, maxMs, defaultMs, negativeMs, staleMs, now } = this.#options;
    const lifeMs = Math.min(ttlMs ?? defaultMs, maxMs, addresses.length === 0 ? negativeMs : maxMs);
    this.#known.delete(key);
    if (lifeMs <= 0) return;
    const until = now() + lifeMs;
    this.#known.set(key, { addresses, until, staleUntil: addresses.length === 0 ? until : until + staleMs });
    const [oldest] = this.#known.keys();
    if (this.#known.size > entries) this.#known.delete(oldest!);
  }
}

/** Rejects with the reason of `stop` when that comes first. */
function unlessStopped<T>(promise: Promise<T>, stop: AbortSignal): Promise<T> {
  return step(stop, (resolve, reject) => {
    promise.then(resolve, reject);
    return () => {};
  });
}
