/** Agents that prove who they are with a service account token, which the Kubernetes API reviews for us. */
import { createHash } from "node:crypto";
import { claimsOf } from "../../../base/json-web-token.js";
import type { Runtime } from "../../../base/runtime.js";
import type { TokenAuthConfig } from "../config.js";
import { malformedToken, ReviewQueue, type TokenSender, tokenRefused, tokenUnreviewed } from "./review-queue.js";

export interface TokenAuthenticator {
  /**
   * Takes every value of the `authorization` metadata key; resolves to `namespace/serviceaccount`. Rejects with a DrawbridgeError whose message may be sent to a
   * stranger, in upstream's words as far as they say nothing of the API server; what the API server said is its cause.
   */
  authenticate(authorizationHeaderValues: readonly string[], sender: TokenSender): Promise<string>;
}

/** The answer to a TokenReview. */
export interface TokenReviewStatus {
  readonly authenticated?: boolean;
  readonly error?: string;
  readonly audiences?: readonly string[];
  readonly user?: { readonly username?: string };
}

export type TokenReviewer = (
  token: string,
  audiences: readonly string[],
  signal: AbortSignal,
) => Promise<TokenReviewStatus>;

const SCHEME = "Bearer ";
/** How long an account may stay accepted after its token was revoked. */
const ACCEPTED_MS = 60_000;
/** Long enough to spare the API an agent that retries with a bad token, short enough for a mistake put right. */
const REJECTED_MS = 3000;
const MOST_ACCEPTED = 4096;
const MOST_REJECTED = 1024;
/** Tokens of service accounts have one or two thousand characters. */
const LONGEST_TOKEN = 16 * 1024;

export function createTokenAuthenticator(
  config: TokenAuthConfig,
  reviewer: TokenReviewer,
  { runtime, qps, burst }: { readonly runtime: Runtime; readonly qps: number; readonly burst: number },
): TokenAuthenticator {
  /** Results in order of last use, by the token's hash: the tokens themselves are not kept. */
  const accepted = new Map<string, Remembered>();
  const rejected = new Map<string, Remembered>();
  const queue = new ReviewQueue<Verdict>({
    ...{ runtime, qps, burst },
    async review(token, signal) {
      try {
        return judge(config, await reviewer(token, [config.audience], signal));
      } catch (reason) {
        throw tokenUnreviewed(reason);
      }
    },
  });

  async function verdictOn(token: string, sender: TokenSender): Promise<Verdict> {
    const key = createHash("sha256").update(token).digest("base64");
    const known = take(accepted, key) ?? take(rejected, key);
    if (known !== undefined) {
      remember(key, known);
      if (runtime.now() < known.until && runtime.date() < known.expiry) return known.verdict;
    }
    const verdict = await queue.ask(key, token, accepted.has(key), sender);
    const isGood = verdict.account !== undefined;
    const until = runtime.now() + (isGood ? ACCEPTED_MS : REJECTED_MS);
    remember(key, { verdict, until, expiry: isGood ? expiryOf(token) : Number.POSITIVE_INFINITY });
    return verdict;
  }

  /** One that is no longer good without a review still says that the token was good before. */
  function remember(key: string, what: Remembered): void {
    const isGood = what.verdict.account !== undefined;
    const [where, most, other] = isGood ? [accepted, MOST_ACCEPTED, rejected] : [rejected, MOST_REJECTED, accepted];
    other.delete(key);
    where.delete(key);
    where.set(key, what);
    if (where.size > most) where.delete(where.keys().next().value!);
  }

  return {
    async authenticate(values, sender) {
      const verdict = await verdictOn(bearerToken(values), sender);
      if (verdict.account === undefined) throw tokenRefused(verdict.refusal, verdict.said);
      return verdict.account;
    },
  };
}

interface Remembered {
  readonly verdict: Verdict;
  /** Until then the result is used without a new review, by the clock that nobody sets. */
  readonly until: number;
  /** The end of an accepted token, in milliseconds since 1970. */
  readonly expiry: number;
}

function take<Value>(from: Map<string, Value>, key: string): Value | undefined {
  const value = from.get(key);
  from.delete(key);
  return value;
}

type Verdict =
  /** `namespace/serviceaccount`. */
  | { readonly account: string }
  /** `said`: the API server's message, for the log. */
  | { readonly account?: undefined; readonly refusal: string; readonly said?: Error | undefined };

function bearerToken(values: readonly string[]): string {
  const [value, ...more] = values;
  if (value === undefined) throw malformedToken("Authentication context was not found in metadata");
  if (more.length > 0) throw malformedToken(`too many (${values.length}) tokens are received`);
  if (!value.startsWith(SCHEME)) throw malformedToken(`received token does not have "${SCHEME}" prefix`);
  if (value.length > SCHEME.length + LONGEST_TOKEN) {
    throw malformedToken(`received token is longer than ${LONGEST_TOKEN} characters`);
  }
  // Agents that send their token file as it is leave its newline behind.
  return value.slice(SCHEME.length).trimEnd();
}

function judge(config: TokenAuthConfig, status: TokenReviewStatus): Verdict {
  const refuse = (why: string, said?: Error): Verdict => ({ refusal: `lookup failed: ${why}`, said });
  if (status.error || status.authenticated !== true)
    return refuse("service account jwt not valid", status.error ? new Error(status.error) : undefined);
  // Without a word about audiences the token is good for the API server itself, says the API's reference, and for us
  // only by accident. Kubernetes' own webhook authenticator decides the same. Upstream does not look.
  if (!status.audiences?.includes(config.audience)) {
    return refuse(`token is not meant for audience ${JSON.stringify(config.audience)}`);
  }
  const [system, kind, namespace, serviceAccount, ...more] = (status.user?.username ?? "").split(":");
  if (namespace === undefined || serviceAccount === undefined || more.length > 0) {
    return refuse("unexpected username format");
  }
  if (system !== "system" || kind !== "serviceaccount") return refuse("username returned is not a service account");
  if (namespace !== config.namespace) {
    return refuse(`incoming request from "${namespace}" namespace. Expected "${config.namespace}"`);
  }
  if (serviceAccount !== config.serviceAccount) {
    return refuse(`incoming request from "${serviceAccount}" service account. Expected "${config.serviceAccount}"`);
  }
  return { account: `${namespace}/${serviceAccount}` };
}

/** When the token says it ends, in milliseconds since 1970. Not verified: it may only shorten how long we remember. */
function expiryOf(token: string): number {
  const exp = claimsOf(token)?.exp;
  return typeof exp === "number" ? exp * 1000 : Number.POSITIVE_INFINITY;
}
