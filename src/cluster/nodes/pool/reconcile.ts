/** One pass over a pool: from its input to the pool's status, the objects to write, and the time of the next pass. */
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { configurationHash, effectiveProxy, pullSecretHash, trustBundleHash } from "../hash/pool-hash.js";
import {
  annotation,
  FINALIZER,
  type Metadata,
  nameOf,
  type ObjectWrite,
  type Secret,
  secretNames,
  type Taint,
  updateOf,
  userDataSecretName,
} from "../objects.js";
import {
  cleanUpWrites,
  makeTokenSecret,
  readTokenSecret,
  refreshTokenSecret,
  type UpgradeType,
} from "../token/token-secret.js";
import { makeUserDataSecret, refreshUserDataSecret } from "../token/user-data.js";
import {
  Conditions,
  isFalse,
  type PassContext,
  PassEnd,
  readPause,
  setConditions,
  tokenSecretOf,
  VALIDATION_FAILED,
} from "./conditions.js";
import type { PassInput, PoolCluster, PoolTarget } from "./input.js";
import { type Condition, type NodePool, validateNodePool } from "./node-pool.js";

export interface ReconcileResult {
  /** The new status.conditions, also when the pass ended early. */
  readonly conditions: readonly Condition[];
  /** The new status.version. */
  readonly version: string | undefined;
  /** The pool itself is among them at most once. */
  readonly writes: readonly ObjectWrite[];
  readonly requeueAt: number | undefined;
  /** Why the pass ended early. With `retry` it is a failure, which is repeated with growing delays. */
  readonly stopped: { readonly because: string; readonly retry: boolean } | undefined;
}

export function reconcile(input: PassInput, now: number): ReconcileResult {
  const { pool } = input;
  const conditions = new Conditions(pool.status?.conditions ?? [], now, pool.metadata?.generation);
  const answer = { conditions: conditions.list, version: pool.status?.version, writes: [], requeueAt: undefined };
  try {
    return { ...answer, stopped: undefined, ...pass(input, conditions, now) };
  } catch (reason) {
    if (!(reason instanceof PassEnd) && !(reason instanceof DrawbridgeError)) throw reason;
    const retry = !(reason instanceof PassEnd) || reason.retry;
    return { ...answer, stopped: { because: messageOf(reason), retry } };
  }
}

function pass(input: PassInput, conditions: Conditions, now: number): Partial<ReconcileResult> {
  const { cluster, pool } = input;
  if (pool.metadata?.deletionTimestamp !== undefined) return { writes: deletion(input) };
  if (cluster === undefined) throw new PassEnd(`the cluster ${pool.spec?.clusterName} does not exist`, { retry: true });
  const owned = withOwner(pool, cluster);
  // Before anything else exists, so that nothing is left behind; the write itself brings the pool back here.
  if (owned !== undefined) return { writes: [{ verb: "update", object: owned }] };

  const pause = readPause(pool.spec?.pausedUntil, now);
  const context: PassContext = { input, cluster, conditions, problems: validateNodePool(pool), pause };
  const target = setConditions(context);
  if (cluster.deleting) throw new PassEnd("the cluster is being deleted");
  dependencies(cluster);
  if (pause.state === "paused") {
    return { requeueAt: pause.until === Number.POSITIVE_INFINITY ? undefined : pause.until };
  }
  const writes = writesFor(context, target, now);
  return { version: target.releaseVersion, writes: [...writes, ...updateOf(atTarget(pool, target))] };
}

/** A configuration that is valid but does not fit into a Secret is found only here. */
function writesFor(context: PassContext, target: PoolTarget, now: number): ObjectWrite[] {
  try {
    return secretWrites(context, target, now);
  } catch (reason) {
    context.conditions.set("ValidMachineConfig", isFalse(VALIDATION_FAILED, messageOf(reason)));
    throw reason;
  }
}

function deletion({ ownedConfigMaps, pool, secrets }: PassInput): ObjectWrite[] {
  const { metadata } = pool;
  if (metadata?.finalizers?.includes(FINALIZER) !== true) return [];
  const released = withMetadata(pool, { finalizers: metadata.finalizers.filter((name) => name !== FINALIZER) });
  return [
    ...[...ownedConfigMaps, ...secrets].map((object): ObjectWrite => ({ verb: "delete", object })),
    { verb: "update", object: released },
  ];
}

/** The pool with our finalizer and its owner; undefined when it has both. */
function withOwner(pool: NodePool, { name, owner }: PoolCluster): NodePool | undefined {
  const { finalizers = [], ownerReferences = [] } = pool.metadata ?? {};
  const isOwned = ownerReferences.some(({ uid }) => uid === owner.uid);
  if (isOwned && finalizers.includes(FINALIZER)) return undefined;
  return withMetadata(pool, {
    finalizers: finalizers.includes(FINALIZER) ? finalizers : [...finalizers, FINALIZER],
    ownerReferences: isOwned ? ownerReferences : [...ownerReferences, { ...owner, name: name.name }],
  });
}

/** Platform None is done as soon as the Secrets are: no node is touched. */
function atTarget(pool: NodePool, { hashes }: PoolTarget): NodePool | undefined {
  const { annotations = {} } = pool.metadata ?? {};
  const wanted = {
    ...annotations,
    [annotation.currentConfig]: hashes.withoutVersion,
    [annotation.currentConfigVersion]: hashes.full,
  };
  const same = [annotation.currentConfig, annotation.currentConfigVersion].every(
    (key) => annotations[key] === wanted[key],
  );
  return same ? undefined : withMetadata(pool, { annotations: wanted });
}

function withMetadata(pool: NodePool, change: Partial<Metadata>): NodePool {
  return { ...pool, metadata: { ...pool.metadata, ...change } };
}

function secretWrites(context: PassContext, target: PoolTarget, now: number): ObjectWrite[] {
  const { pool, secrets } = context.input;
  const { name } = nameOf(pool);
  const current = pool.metadata?.annotations?.[annotation.currentConfigVersion] ?? target.hashes.full;
  const wanted = secretNames(name, target.hashes.full);
  const outdated = secrets.filter(({ metadata }) => secretNames(name, current).includes(metadata?.name ?? ""));
  const token = tokenSecretOf(secrets, name, target.hashes.full);
  const { secret, writes } = currentToken(context, target, token, now);
  const ends = outdated.flatMap((old) => cleanUpWrites(old, wanted, now));
  return [...ends, ...writes, ...currentUserData(context, target, secret)];
}

function currentToken(context: PassContext, target: PoolTarget, existing: Secret | undefined, now: number) {
  const { cluster, input } = context;
  if (existing !== undefined) {
    const hash = configurationHash(cluster.configuration);
    const refreshed = refreshTokenSecret(existing, hash, registrationOf(input.pool));
    return { secret: refreshed ?? existing, writes: updateOf(refreshed) };
  }
  const { pullSecret, trustBundle } = dependencies(cluster);
  const secret = makeTokenSecret(
    {
      namespace: cluster.controlPlaneNamespace,
      pool: nameOf(input.pool),
      hash: target.hashes.full,
      upgradeType: input.pool.spec?.management?.upgradeType as UpgradeType,
      token: input.newToken(),
      releaseImage: input.pool.spec?.release?.image ?? "",
      releaseVersion: target.releaseVersion,
      rawConfig: target.rawConfig,
      pullSecretHash: pullSecretHash(pullSecret),
      trustBundleHash: trustBundleHash(trustBundle),
      configurationHash: configurationHash(cluster.configuration),
      stream: target.stream,
      registration: registrationOf(input.pool),
    },
    now,
  );
  const writes: ObjectWrite[] = [{ verb: "create", object: secret }];
  return { secret, writes };
}

/** Not part of the hash, as in HyperShift: what is changed is for nodes that join later. */
function registrationOf({ spec }: NodePool): string {
  const { nodeLabels = {}, taints = [] } = spec ?? {};
  const sorted = Object.fromEntries(Object.entries(nodeLabels).sort(([a], [b]) => (a < b ? -1 : 1)));
  const chosen = (taints as readonly Partial<Taint>[]).map(({ effect, key, value }) => ({ key, value, effect }));
  return Object.keys(sorted).length + chosen.length === 0 ? "" : JSON.stringify({ nodeLabels: sorted, taints: chosen });
}

function currentUserData({ cluster, input }: PassContext, target: PoolTarget, tokenSecret: Secret): ObjectWrite[] {
  const { token } = readTokenSecret(tokenSecret);
  // Somebody emptied it. The Ignition server puts a new one in, and that brings us back here.
  if (token === undefined) return [];
  const pool = nameOf(input.pool);
  const content = {
    pool,
    hash: target.hashes.full,
    token,
    ignitionEndpoint: cluster.ignitionEndpoint,
    ignitionCaPem: cluster.ignitionCaPem,
    proxy: effectiveProxy(cluster.configuration?.proxy, cluster.networks),
  };
  const name = userDataSecretName(pool.name, target.hashes.full);
  const existing = input.secrets.find(({ metadata }) => metadata?.name === name);
  if (existing === undefined) {
    return [{ verb: "create", object: makeUserDataSecret(cluster.controlPlaneNamespace, content) }];
  }
  return updateOf(refreshUserDataSecret(existing, content));
}

/** Both must be there before anything is written. */
function dependencies({ pullSecret, trustBundle }: PoolCluster): { pullSecret: Uint8Array; trustBundle: string } {
  if (pullSecret.content === undefined) {
    throw new PassEnd(`the pull secret ${pullSecret.name} is missing or has no key .dockerconfigjson`, { retry: true });
  }
  if (trustBundle !== undefined && trustBundle.content === undefined) {
    throw new PassEnd(`the ConfigMap ${trustBundle.name} is missing or has no key ca-bundle.crt`, { retry: true });
  }
  return { pullSecret: pullSecret.content, trustBundle: trustBundle?.content ?? "" };
}
