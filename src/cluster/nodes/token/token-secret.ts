/** The Secret through which a pool's controller tells the Ignition server what to serve, under which token, and for how long. */
import { gunzipSync, gzipSync } from "node:zlib";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import {
  annotation,
  encoded,
  nanoTime,
  type ObjectName,
  type ObjectWrite,
  parseTime,
  pathOf,
  readPath,
  type Secret,
  secondTime,
  secretText,
  tokenSecretName,
  updateOf,
} from "../objects.js";

const upgradeTypes = ["InPlace", "Replace"] as const;
export type UpgradeType = (typeof upgradeTypes)[number];

/** `namespace` is the control plane's. */
export type TokenSecretContent = Readonly<
  Record<"namespace" | "hash" | "token" | "releaseImage" | "releaseVersion" | "rawConfig" | "stream", string> &
    Record<"pullSecretHash" | "trustBundleHash" | "configurationHash", string>
> & {
  readonly pool: ObjectName;
  readonly upgradeType: UpgradeType;
  /** Labels and taints with which the pool's nodes register, as JSON. Empty or undefined: none. */
  readonly registration?: string;
};

/** The API refuses Secrets above this. */
const LONGEST_SECRET = 1024 * 1024;
/** Space for what the Ignition server adds: one more token, and the outcome of the payload. Without it no token could be rotated. */
const NOTES_BYTES = 4096;
export const LONGEST_MESSAGE = 2048;

/** Why a Secret with these values could not be kept; undefined when it can. */
export function sizeProblem(data: Readonly<Record<string, string>>): string | undefined {
  // As the API counts: the decoded values.
  const size = Object.values(data).reduce((sum, value) => sum + Buffer.byteLength(value, "base64"), 0);
  if (size + NOTES_BYTES <= LONGEST_SECRET) return undefined;
  return `takes ${size} bytes of the Secret, and the API allows ${LONGEST_SECRET}, of which ${NOTES_BYTES} are kept free for tokens and notes`;
}

export function makeTokenSecret(content: TokenSecretContent, now: number): Secret {
  const { namespace, pool, hash } = content;
  const secret: Secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: tokenSecretName(pool.name, hash),
      namespace,
      annotations: {
        [annotation.ignitionConfig]: "true",
        [annotation.upgradeType]: content.upgradeType,
        [annotation.nodePool]: pathOf(pool),
        [annotation.tokenGenerated]: nanoTime(now),
        ...registered(content.registration),
      },
    },
    type: "Opaque",
    immutable: false,
    data: {
      token: encoded(usableToken(content.token)),
      release: encoded(content.releaseImage),
      "release-version": encoded(content.releaseVersion),
      config: encoded(pack(content.rawConfig)),
      "pull-secret-hash": encoded(content.pullSecretHash),
      "additional-trust-bundle-hash": encoded(content.trustBundleHash),
      "hc-configuration-hash": encoded(content.configurationHash),
      // Only clouds have one.
      "cloud-config-hash": "",
      "os-stream": encoded(content.stream),
    },
  };
  const problem = sizeProblem(secret.data ?? {});
  if (problem === undefined) return secret;
  throw new DrawbridgeError("DB_NODEPOOL_CONFIG", `the configuration of pool ${pathOf(pool)} ${problem}`);
}

const registered = (registration = "") => (registration === "" ? {} : { [annotation.registration]: registration });

/**
 * The Secret with the current configuration hash, labels and taints, and without an end; undefined when it is so already. All
 * else was written once.
 */
export function refreshTokenSecret(
  secret: Secret,
  configurationHash: string,
  registration: string,
): Secret | undefined {
  const {
    [annotation.tokenExpires]: expires,
    [annotation.registration]: before = "",
    ...annotations
  } = secret.metadata?.annotations ?? {};
  const wanted = encoded(configurationHash);
  const isSame = secret.data?.["hc-configuration-hash"] === wanted && before === registration;
  if (expires === undefined && isSame) return undefined;
  return {
    ...secret,
    metadata: { ...secret.metadata, annotations: { ...annotations, ...registered(registration) } },
    data: { ...secret.data, "hc-configuration-hash": wanted },
  };
}

export type TokenSecretView = ReturnType<typeof readTokenSecret>;

export function readTokenSecret(secret: Secret) {
  const annotations = secret.metadata?.annotations ?? {};
  const text = (key: string) => secretText(secret, key) ?? "";
  const expires = annotations[annotation.tokenExpires];
  const reason = secretText(secret, "reason");
  return {
    pool: readPath(annotations[annotation.nodePool]),
    // Undefined rather than empty: an empty token would admit everybody.
    token: text("token") || undefined,
    oldToken: text("old_token") || undefined,
    pullSecretHash: text("pull-secret-hash"),
    trustBundleHash: text("additional-trust-bundle-hash"),
    upgradeType: upgradeTypes.find((type) => type === annotations[annotation.upgradeType]),
    generatedAt: parseTime(annotations[annotation.tokenGenerated]),
    // Undefined: never. NaN: the annotation is unreadable, which counts as expired.
    expiresAt: expires === undefined ? undefined : (parseTime(expires) ?? Number.NaN),
    registration: annotations[annotation.registration] ?? "",
    reached: annotations[annotation.ignitionReached] === "True",
    // The outcome of making the payload; undefined before the server tried.
    outcome: reason === undefined ? undefined : { reason, message: text("message") },
    /** Unpacked on demand; throws when it cannot be read. */
    rawConfig: () => unpack(text("config")),
  };
}

/** Whether the Secret is one that the Ignition server serves. */
export function isTokenSecret(secret: Secret): boolean {
  return secret.metadata?.annotations?.[annotation.ignitionConfig] !== undefined;
}

export function usableToken(token: string): string {
  if (token.trim() === "") throw new DrawbridgeError("DB_TOKEN_SECRET", "an empty token would admit everybody");
  return token;
}

/** No configuration is as large; this bounds what a small packed text may grow to. */
const LONGEST = 64 * 1024 * 1024;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Gzip and base64, so that a long text fits into the megabyte that an object may have. Empty stays empty. */
export function pack(text: string): string {
  return text === "" ? "" : gzipSync(Buffer.from(text, "utf8"), { level: 9 }).toString("base64");
}

export function unpack(packed: string): string {
  if (packed === "") return "";
  if (!BASE64.test(packed)) throw unreadable("it is not base64");
  try {
    return gunzipSync(Buffer.from(packed, "base64"), { maxOutputLength: LONGEST }).toString("utf8");
  } catch (reason) {
    throw unreadable(messageOf(reason), reason);
  }
}

function unreadable(why: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_TOKEN_SECRET", `failed to decode and decompress config: ${why}`, { cause });
}

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

/** Whether the Secret is one that is cleaned up when nothing refers to it. */
function isPoolSecret(secret: Secret): boolean {
  const name = secret.metadata?.name ?? "";
  const pool = readPath(secret.metadata?.annotations?.[annotation.nodePool]);
  return pool !== undefined && (name.startsWith("token") || name.startsWith("user-data"));
}

/** The names of a pool's Secrets that are wanted; undefined while they cannot be worked out: then nothing is touched. */
export type WantedSecrets = readonly string[] | "no pool" | undefined;

/** Deletes the Secret if it is not wanted; a token that machines may still use ends in two hours. */
export function cleanUpWrites(secret: Secret, wanted: WantedSecrets, now: number): ObjectWrite[] {
  const name = secret.metadata?.name ?? "";
  if (!isPoolSecret(secret) || wanted === undefined || (wanted !== "no pool" && wanted.includes(name))) return [];
  if (wanted === "no pool" || !name.startsWith("token")) return [{ verb: "delete", object: secret }];
  return updateOf(withExpiry(secret, now));
}
