/** The life of a token Secret: when its token is rotated, and when it is ended and deleted. */
import { annotation, encoded, nanoTime, readPath, type Secret, secondTime } from "../objects.js";
import { readTokenSecret, usableToken } from "./token-secret.js";

const HOUR_MS = 60 * 60_000;
/** A token is the current one for the first half of this time, and the old one for the second. */
const TOKEN_LIFE_MS = 11 * HOUR_MS;
export const ROTATE_AFTER_MS = TOKEN_LIFE_MS / 2;
/** Machines that were given user data just before a change may still be booting. */
export const EXPIRE_AFTER_MS = 2 * HOUR_MS;
/**
 * Clocks of two replicas differ. A replica whose clock is behind must not rotate a token that was just rotated: that would revoke
 * the token of all user data at once. A stamp further ahead than this would keep a token alive for as long as it lies.
 */
const SKEW_MS = ROTATE_AFTER_MS;

export type TokenStep =
  | { readonly action: "keep"; readonly lookAgainAt: number }
  /** Write the Secret on the condition that nobody else did; on a conflict read it again and start over. */
  | {
      readonly action: "rotate";
      readonly secret: Secret;
      /** No longer valid once the write succeeded. */
      readonly revoked: string | undefined;
      readonly lookAgainAt: number;
    }
  | { readonly action: "delete"; readonly resourceVersion: string | undefined };

/** `newToken` is used only when the token is due. */
export function tokenStep(secret: Secret, now: number, newToken: () => string): TokenStep {
  const { expiresAt, generatedAt, oldToken, token } = readTokenSecret(secret);
  if (expiresAt !== undefined && !(expiresAt > now)) {
    return { action: "delete", resourceVersion: secret.metadata?.resourceVersion };
  }
  const soonest = (rotation: number) => Math.min(rotation, expiresAt ?? Number.POSITIVE_INFINITY);
  const due = generatedAt === undefined || generatedAt > now + SKEW_MS ? now : generatedAt + ROTATE_AFTER_MS;
  if (token !== undefined && due > now) return { action: "keep", lookAgainAt: soonest(due) };
  return {
    action: "rotate",
    secret: rotated(secret, now, usableToken(newToken())),
    revoked: oldToken,
    lookAgainAt: soonest(now + ROTATE_AFTER_MS),
  };
}

function rotated(secret: Secret, now: number, newToken: string): Secret {
  const { token } = readTokenSecret(secret);
  const { old_token: _revoked, ...data } = secret.data ?? {};
  return {
    ...secret,
    metadata: {
      ...secret.metadata,
      annotations: { ...secret.metadata?.annotations, [annotation.tokenGenerated]: nanoTime(now) },
    },
    data: { ...data, ...(token === undefined ? {} : { old_token: encoded(token) }), token: encoded(newToken) },
  };
}

/** The Secret with an end in two hours; undefined when it has one already, so that repeating does not prolong it. */
export function withExpiry(secret: Secret, now: number): Secret | undefined {
  const { metadata } = secret;
  if (metadata?.annotations?.[annotation.tokenExpires] !== undefined) return undefined;
  const end = secondTime(now + EXPIRE_AFTER_MS);
  return {
    ...secret,
    metadata: { ...metadata, annotations: { ...metadata?.annotations, [annotation.tokenExpires]: end } },
  };
}

/** The current state of the pool that a Secret names as its owner. */
export type SecretOwner =
  | { readonly state: "no pool" }
  | { readonly state: "no cluster" }
  /** The names its Secrets have now; undefined while they cannot be worked out: then nothing is touched. */
  | { readonly state: "current"; readonly names: { readonly token: string; readonly userData: string } | undefined };

type SecretAction =
  | { readonly action: "keep" }
  | { readonly action: "expire"; readonly secret: Secret }
  | { readonly action: "delete"; readonly resourceVersion: string | undefined };

/** Whether the Secret is one that is cleaned up when nothing refers to it. */
export function isPoolSecret(secret: Secret): boolean {
  const name = secret.metadata?.name ?? "";
  const pool = readPath(secret.metadata?.annotations?.[annotation.nodePool]);
  return pool !== undefined && (name.startsWith("token") || name.startsWith("user-data"));
}

export function cleanUpAction(secret: Secret, owner: SecretOwner, now: number): SecretAction {
  if (!isPoolSecret(secret)) return { action: "keep" };
  const name = secret.metadata?.name ?? "";
  const remove: SecretAction = { action: "delete", resourceVersion: secret.metadata?.resourceVersion };
  if (owner.state === "no pool") return remove;
  if (owner.state === "current") {
    const { names } = owner;
    if (names === undefined || name === names.token || name === names.userData) return { action: "keep" };
  }
  if (!name.startsWith("token")) return remove;
  const secretWithEnd = withExpiry(secret, now);
  return secretWithEnd === undefined ? { action: "keep" } : { action: "expire", secret: secretWithEnd };
}
