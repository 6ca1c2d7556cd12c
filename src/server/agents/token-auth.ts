/** Agents that prove who they are with a service account token, which the Kubernetes API reviews for us. */
import { createHash } from "node:crypto";
import { DrawbridgeError, messageOf } from "../../errors/error.js";
import type { KubeApiError } from "../../kube/errors.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import type { TokenAuthConfig } from "../config.js";

export interface AgentAccount {
  readonly namespace: string;
  readonly serviceAccount: string;
  /** `system:serviceaccount:<namespace>:<serviceAccount>`. */
  readonly username: string;
}

export interface TokenAuthenticator {
  /**
   * Takes every value of the `authorization` metadata key. Rejects with a DrawbridgeError whose message is, word for
   * word, what upstream sends to the agent.
   */
  authenticate(authorizationHeaderValues: readonly string[]): Promise<AgentAccount>;
}

/** The answer to a TokenReview. */
export interface TokenReviewStatus {
  readonly authenticated?: boolean;
  readonly error?: string;
  readonly audiences?: readonly string[];
  readonly user?: { readonly username?: string };
}

export type TokenReviewer = (token: string, audiences: readonly string[]) => Promise<TokenReviewStatus>;

const scheme = "Bearer ";
/** How long an account may stay accepted after its token was revoked. */
const acceptedMs = 60_000;
/** Long enough to spare the API an agent that retries with a bad token, short enough for a mistake put right. */
const rejectedMs = 3000;
const mostRemembered = 4096;
const reviewTimeoutMs = 10_000;

export function kubeTokenReviewer(api: KubeApi): TokenReviewer {
  return async (token, audiences) => {
    const review: KubeObject & { spec: object; status?: TokenReviewStatus } = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token, audiences },
    };
    const path = "/apis/authentication.k8s.io/v1/tokenreviews";
    return (await api.create(path, review, { timeoutMs: reviewTimeoutMs })).status ?? {};
  };
}

export function createTokenAuthenticator(
  config: TokenAuthConfig,
  reviewer: TokenReviewer,
  clock: { now(): number },
): TokenAuthenticator {
  /** In order of last use, by the token's hash: the tokens themselves are not kept. */
  const verdicts = new Map<string, { readonly verdict: Verdict; readonly until: number }>();
  const underWay = new Map<string, Promise<Verdict>>();

  async function verdictOn(token: string): Promise<Verdict> {
    const key = createHash("sha256").update(token).digest("base64");
    const known = verdicts.get(key);
    verdicts.delete(key);
    if (known !== undefined && clock.now() < known.until) {
      verdicts.set(key, known);
      return known.verdict;
    }
    // Agents come back all at once after an outage, each with several connections: one review a token is enough.
    let review = underWay.get(key);
    if (review === undefined) {
      review = judge(config, reviewer, token)
        .then((verdict) => {
          remember(key, verdict, token);
          return verdict;
        })
        .finally(() => underWay.delete(key));
      underWay.set(key, review);
    }
    return review;
  }

  function remember(key: string, verdict: Verdict, token: string): void {
    const now = clock.now();
    const until = verdict.account === undefined ? now + rejectedMs : Math.min(now + acceptedMs, expiryOf(token));
    if (until <= now) return;
    verdicts.set(key, { verdict, until });
    if (verdicts.size > mostRemembered) verdicts.delete(verdicts.keys().next().value!);
  }

  return {
    async authenticate(values) {
      const verdict = await verdictOn(bearerToken(values));
      if (verdict.account === undefined) throw notValidated(verdict.refusal);
      return verdict.account;
    },
  };
}

type Verdict = { readonly account: AgentAccount } | { readonly account?: undefined; readonly refusal: string };

function bearerToken(values: readonly string[]): string {
  const [value, ...more] = values;
  if (value === undefined) throw rejection("Authentication context was not found in metadata");
  if (more.length > 0) throw rejection(`too many (${values.length}) tokens are received`);
  if (!value.startsWith(scheme)) throw rejection(`received token does not have "${scheme}" prefix`);
  // Agents that send their token file as it is leave its newline behind.
  return value.slice(scheme.length).trimEnd();
}

async function judge(config: TokenAuthConfig, reviewer: TokenReviewer, token: string): Promise<Verdict> {
  let status: TokenReviewStatus;
  try {
    status = await reviewer(token, [config.audience]);
  } catch (reason) {
    // The API's own words where there are any: that is what upstream passes on.
    const said = (reason as Partial<KubeApiError>).detail ?? messageOf(reason);
    throw notValidated(`Failed to authenticate request. err:${said}`, reason);
  }
  const refuse = (why: string): Verdict => ({ refusal: `lookup failed: ${why}` });
  if (status.error) return refuse(status.error);
  if (status.authenticated !== true) return refuse("service account jwt not valid");
  // Upstream takes the API's word for it; an API server that knows nothing of audiences leaves them out.
  if (status.audiences !== undefined && !status.audiences.includes(config.audience)) {
    return refuse(`token is not meant for audience ${JSON.stringify(config.audience)}`);
  }
  const username = status.user?.username ?? "";
  const [system, kind, namespace, serviceAccount, ...more] = username.split(":");
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
  return { account: { namespace, serviceAccount, username } };
}

/** When the token says it ends, in milliseconds since 1970. Not verified: it may only shorten how long we remember. */
function expiryOf(token: string): number {
  try {
    const { exp } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { exp?: unknown };
    return typeof exp === "number" ? exp * 1000 : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function notValidated(why: string, cause?: unknown): DrawbridgeError {
  return rejection(`Failed to validate authentication token, err:${why}`, cause);
}

function rejection(message: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_AGENT_TOKEN", message, { cause });
}
