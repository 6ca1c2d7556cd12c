/**
 * Tokens that wait for the Kubernetes API to review them. Strangers fill this queue before anybody knows who they are,
 * so the API server is asked at a bounded rate, and whose token is next is not decided by who sends most:
 *
 * - tokens that were accepted before come first: a stranger has none;
 * - for every other review source addresses take turns, since a flood often comes from few of them;
 * - the reviews in between go by connection alone, since behind a balancer all agents have one address while a flood may
 *   come from many: connections that have had no review yet come first, the newest before the others. The same order
 *   holds within an address. A flood over connections that stay is behind every newcomer; to get ahead of one it needs a
 *   new connection, with its TLS handshake, for each token, and whoever comes again has a new chance each time.
 */
import { splitHostPort } from "../../../base/address.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { RateLimit } from "../../../base/rate-limit.js";
import type { Runtime } from "../../../base/runtime.js";
import { parseAddress } from "../../wire/prefix.js";

/** The sender of a token that is to be reviewed. */
export interface TokenSender {
  /** The connection its stream is on. */
  readonly connection: object;
  /** The source address, with its port. */
  readonly remote: string;
  /** Fires when the stream has ended. */
  readonly signal: AbortSignal;
}

export interface ReviewQueueOptions<Verdict> {
  readonly review: (token: string, signal: AbortSignal) => Promise<Verdict>;
  readonly runtime: Runtime;
  /** Reviews a second and at once; 0: the Kubernetes client's defaults, 20 and 40; negative: no limit. */
  readonly qps: number;
  readonly burst: number;
}

/** Reviews that are with the API server at the same time. */
const MAX_UNDER_WAY = 10;
const MAX_WAITING = 1024;
/** An agent has one stream; callers of the same library may share a connection. */
const MAX_OF_CONNECTION = 8;
/** Waiting and review together. */
const DEADLINE_MS = 30_000;
/** How soon to look again when the rate is used up. */
const RETRY_MS = 50;
/** Among how many the one is chosen that has to go when the queue is full. */
const DRAWS = 8;
/** Addresses whose last turn is remembered. */
const MAX_ADDRESSES = 4096;

interface Waiter<Verdict> {
  readonly key: string;
  readonly token: string;
  readonly wasAccepted: boolean;
  readonly connection: object;
  readonly address: string;
  /** Numbers grow in the order of arrival. */
  readonly number: number;
  readonly settle: (outcome: { readonly verdict: Verdict } | { readonly reason: unknown }) => void;
}

interface Review<Verdict> {
  readonly waiters: Set<Waiter<Verdict>>;
  readonly abandon: AbortController;
}

export class ReviewQueue<Verdict> {
  readonly #options: ReviewQueueOptions<Verdict>;
  readonly #limit: RateLimit;
  readonly #waiting: Waiter<Verdict>[] = [];
  readonly #underWay = new Map<string, Review<Verdict>>();
  /** How many of a connection wait or are under review. */
  readonly #ofConnection = new Map<object, number>();
  readonly #ofAddress = new Map<string, number>();
  /** Reviews that a connection has had. */
  readonly #reviewed = new WeakMap<object, number>();
  /** The number of the last review for an address; those that are missing had none for long. */
  readonly #turns = new Map<string, number>();
  #count = 0;
  /** Whether addresses count in the next choice. */
  #isByAddress = true;
  #cancelRetry: (() => void) | undefined;

  constructor(options: ReviewQueueOptions<Verdict>) {
    this.#options = options;
    this.#limit = new RateLimit(options.runtime, options.qps, options.burst);
  }

  /**
   * One review serves all who wait for the same `key`. Rejects with a DrawbridgeError when there is none in time, or with
   * what `review` rejects with. `wasAccepted`: the same token was good before.
   */
  ask(key: string, token: string, wasAccepted: boolean, { connection, remote, signal }: TokenSender): Promise<Verdict> {
    if (signal.aborted) return Promise.reject(cancelled());
    if ((this.#ofConnection.get(connection) ?? 0) >= MAX_OF_CONNECTION) {
      return Promise.reject(tokenRefused(`one connection may have ${MAX_OF_CONNECTION} tokens under review at a time`));
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => this.#leave(waiter, cancelled());
      const cancelDeadline = this.#options.runtime.after(DEADLINE_MS, () =>
        this.#leave(waiter, noReview(`there was no review within ${DEADLINE_MS / 1000} s`)),
      );
      const waiter: Waiter<Verdict> = {
        ...{ key, token, wasAccepted, connection, number: ++this.#count, address: addressOf(remote) },
        settle: (outcome) => {
          cancelDeadline();
          signal.removeEventListener("abort", onAbort);
          count(this.#ofConnection, connection, -1);
          if ("verdict" in outcome) resolve(outcome.verdict);
          else reject(outcome.reason);
        },
      };
      signal.addEventListener("abort", onAbort);
      count(this.#ofConnection, connection, 1);
      const review = this.#underWay.get(key);
      if (review !== undefined) review.waiters.add(waiter);
      else this.#enqueue(waiter);
    });
  }

  #enqueue(waiter: Waiter<Verdict>): void {
    this.#waiting.push(waiter);
    count(this.#ofAddress, waiter.address, 1);
    if (this.#waiting.length > MAX_WAITING) {
      this.#leave(this.#leastEntitled(), noReview("too many tokens wait for a review; try again"));
    }
    this.#startReviews();
  }

  #startReviews(): void {
    while (this.#waiting.length > 0 && this.#underWay.size < MAX_UNDER_WAY) {
      if (!this.#limit.take()) {
        this.#cancelRetry ??= this.#options.runtime.after(RETRY_MS, () => {
          this.#cancelRetry = undefined;
          this.#startReviews();
        });
        return;
      }
      this.#start(this.#next());
    }
  }

  #start(first: Waiter<Verdict>): void {
    const { key, token, connection, address } = first;
    const review: Review<Verdict> = { waiters: new Set(), abandon: new AbortController() };
    for (const waiter of this.#waiting.filter((each) => each.key === key)) {
      this.#dequeue(waiter);
      review.waiters.add(waiter);
    }
    this.#underWay.set(key, review);
    this.#reviewed.set(connection, (this.#reviewed.get(connection) ?? 0) + 1);
    this.#turns.delete(address);
    this.#turns.set(address, ++this.#count);
    if (this.#turns.size > MAX_ADDRESSES) this.#turns.delete(this.#turns.keys().next().value!);
    const end = (outcome: Parameters<Waiter<Verdict>["settle"]>[0]): void => {
      // One that was abandoned has no waiters, and its place may be somebody else's.
      if (this.#underWay.get(key) === review) this.#underWay.delete(key);
      for (const waiter of review.waiters) waiter.settle(outcome);
      this.#startReviews();
    };
    this.#options.review(token, review.abandon.signal).then(
      (verdict) => end({ verdict }),
      (reason: unknown) => end({ reason }),
    );
  }

  /** Whether it waits or is under review: its end, with a reason. Nobody reviews what nobody waits for. */
  #leave(waiter: Waiter<Verdict>, reason: unknown): void {
    const review = this.#underWay.get(waiter.key);
    if (review?.waiters.delete(waiter)) {
      if (review.waiters.size === 0) {
        this.#underWay.delete(waiter.key);
        review.abandon.abort();
      }
    } else this.#dequeue(waiter);
    waiter.settle({ reason });
    this.#startReviews();
  }

  #dequeue(waiter: Waiter<Verdict>): void {
    this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
    count(this.#ofAddress, waiter.address, -1);
  }

  #next(): Waiter<Verdict> {
    this.#isByAddress = !this.#isByAddress;
    return this.#waiting.reduce((best, each) => (this.#isBefore(each, best) ? each : best));
  }

  /**
   * Of a few at random that of the address with most waiting, every other time, and of these whose turn would come last.
   * Strangers can make us ask this as often as they like, so it must not take longer the more wait.
   */
  #leastEntitled(): Waiter<Verdict> {
    this.#isByAddress = !this.#isByAddress;
    let worst: Waiter<Verdict> | undefined;
    for (let draw = 0; draw < DRAWS; draw++) {
      const each = this.#waiting[Math.floor(this.#options.runtime.random() * this.#waiting.length)]!;
      if (worst === undefined || this.#goesBefore(each, worst)) worst = each;
    }
    return worst!;
  }

  #goesBefore(one: Waiter<Verdict>, two: Waiter<Verdict>): boolean {
    if (one.wasAccepted !== two.wasAccepted) return two.wasAccepted;
    const more = this.#isByAddress ? this.#ofAddress.get(one.address)! - this.#ofAddress.get(two.address)! : 0;
    return more === 0 ? this.#isBefore(two, one) : more > 0;
  }

  #isBefore(one: Waiter<Verdict>, two: Waiter<Verdict>): boolean {
    if (one.wasAccepted !== two.wasAccepted) return one.wasAccepted;
    const turns = (this.#turns.get(one.address) ?? 0) - (this.#turns.get(two.address) ?? 0);
    if (this.#isByAddress && turns !== 0) return turns < 0;
    const reviewed = (this.#reviewed.get(one.connection) ?? 0) - (this.#reviewed.get(two.connection) ?? 0);
    return reviewed === 0 ? one.number > two.number : reviewed < 0;
  }
}

function count<Key>(counts: Map<Key, number>, key: Key, change: number): void {
  const now = (counts.get(key) ?? 0) + change;
  if (now > 0) counts.set(key, now);
  else counts.delete(key);
}

/** Without its port; of IPv6 the network, of which one host may have all addresses. */
function addressOf(remote: string): string {
  const split = splitHostPort(remote);
  const host = "error" in split ? remote : split.host;
  const address = parseAddress(host);
  return address?.kind() === "ipv6" ? address.toByteArray().slice(0, 8).join(".") : host;
}

function cancelled(): Error {
  return noReview("the stream ended before its token was reviewed");
}

/** The token itself was not judged. */
const noReview = (why: string): DrawbridgeError => new DrawbridgeError("DB_TOKEN_REVIEW", `${TOKEN_REFUSED}${why}`);

/** The message may be sent to a stranger; the cause is for the log. */
export function tokenRefused(why: string, cause?: unknown): DrawbridgeError {
  return malformedToken(`${TOKEN_REFUSED}${why}`, cause);
}

/** Nobody could say whether the token is good: the code is that of the cause, which has to be mended here. */
export function tokenUnreviewed(cause: unknown): DrawbridgeError {
  const code = cause instanceof DrawbridgeError ? cause.code : "DB_TOKEN_REVIEW";
  return new DrawbridgeError(code, `${TOKEN_REFUSED}Failed to authenticate request`, { cause });
}

const TOKEN_REFUSED = "Failed to validate authentication token, err:";

/** The error for an authorization header that does not hold exactly one token. */
export function malformedToken(message: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_AGENT_TOKEN", message, { cause });
}
