/** What a pass writes: the Secrets of the current hash, and the end of those before it. */
import type { KubeObject } from "../../kube/port.js";
import { effectiveProxy } from "../hash/global-config.js";
import { configurationHash, pullSecretHash, trustBundleHash } from "../hash/pool-hash.js";
import { annotation, tokenSecretName, userDataSecretName } from "../names.js";
import { nameOf, type Secret } from "../objects.js";
import { expiring } from "../token/rotation.js";
import { makeTokenSecret, readTokenSecret, refreshTokenSecret, type UpgradeType } from "../token/token-secret.js";
import { makeUserDataSecret, refreshUserDataSecret } from "../token/user-data.js";
import type { Findings } from "./checks.js";
import { tokenSecretOf } from "./progress.js";
import { Stop } from "./stop.js";
import type { Target } from "./target.js";
import type { Cluster } from "./world.js";

/** In order; the first that fails ends the rest. Updates and deletions hold only for the version they were decided on. */
export interface Write {
  readonly verb: "create" | "update" | "delete";
  readonly object: KubeObject;
}

export function secretWrites(findings: Findings, target: Target, now: number): Write[] {
  const { world } = findings;
  const current = world.pool.metadata?.annotations?.[annotation.currentConfigVersion];
  const outdated =
    current === undefined || current === target.hashes.full ? [] : retire(world.secrets, findings, current, now);
  const token = tokenSecretOf(world.secrets, world.pool.metadata?.name, target.hashes.full);
  const { secret, writes } = currentToken(findings, target, token, now);
  return [...outdated, ...writes, ...currentUserData(findings, target, secret)];
}

function retire(secrets: readonly Secret[], { world }: Findings, hash: string, now: number): Write[] {
  const { name } = nameOf(world.pool);
  return secrets.flatMap((secret): Write[] => {
    if (secret.metadata?.name === userDataSecretName(name, hash)) return [{ verb: "delete", object: secret }];
    if (secret.metadata?.name !== tokenSecretName(name, hash)) return [];
    const ending = expiring(secret, now);
    return ending === undefined ? [] : [{ verb: "update", object: ending }];
  });
}

function currentToken(findings: Findings, target: Target, existing: Secret | undefined, now: number) {
  const { cluster, world } = findings;
  if (existing !== undefined) {
    const refreshed = refreshTokenSecret(existing, configurationHash(cluster.configuration));
    const writes: Write[] = refreshed === undefined ? [] : [{ verb: "update", object: refreshed }];
    return { secret: refreshed ?? existing, writes };
  }
  const { pullSecret, trustBundle } = dependencies(cluster);
  const secret = makeTokenSecret(
    {
      namespace: cluster.controlPlaneNamespace,
      pool: nameOf(world.pool),
      hash: target.hashes.full,
      upgradeType: world.pool.spec?.management?.upgradeType as UpgradeType,
      token: world.newToken(),
      releaseImage: world.pool.spec?.release?.image ?? "",
      releaseVersion: target.releaseVersion,
      rawConfig: target.rawConfig,
      pullSecretHash: pullSecretHash(pullSecret),
      trustBundleHash: trustBundleHash(trustBundle),
      configurationHash: configurationHash(cluster.configuration),
      stream: target.stream,
      alreadyReached: cluster.restoredFromBackup,
    },
    now,
  );
  const writes: Write[] = [{ verb: "create", object: secret }];
  return { secret, writes };
}

function currentUserData({ cluster, world }: Findings, target: Target, tokenSecret: Secret): Write[] {
  const { token } = readTokenSecret(tokenSecret);
  // Somebody emptied it. The Ignition server puts a new one in, and that brings us back here.
  if (token === undefined) return [];
  const pool = nameOf(world.pool);
  const content = {
    pool,
    hash: target.hashes.full,
    token,
    ignitionEndpoint: cluster.ignitionEndpoint,
    ignitionCaPem: cluster.ignitionCaPem,
    proxy: effectiveProxy(cluster.configuration?.proxy, cluster.networks),
  };
  const name = userDataSecretName(pool.name, target.hashes.full);
  const existing = world.secrets.find(({ metadata }) => metadata?.name === name);
  if (existing === undefined) {
    return [{ verb: "create", object: makeUserDataSecret(cluster.controlPlaneNamespace, content) }];
  }
  const refreshed = refreshUserDataSecret(existing, content);
  return refreshed === undefined ? [] : [{ verb: "update", object: refreshed }];
}

/** Both must be there before anything is written. */
export function dependencies({ pullSecret, trustBundle }: Cluster): { pullSecret: Uint8Array; trustBundle: string } {
  if (pullSecret.content === undefined) {
    throw Stop.andRetry(`the pull secret ${pullSecret.name} is missing or has no key .dockerconfigjson`);
  }
  if (trustBundle !== undefined && trustBundle.content === undefined) {
    throw Stop.andRetry(`the ConfigMap ${trustBundle.name} is missing or has no key ca-bundle.crt`);
  }
  return { pullSecret: pullSecret.content, trustBundle: trustBundle?.content ?? "" };
}
