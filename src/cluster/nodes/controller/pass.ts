/** One pass over one pool: decide, write, report the status, and clean up Secrets that nothing refers to any more. */
import { isDeepStrictEqual } from "node:util";
import { messageOf } from "../../../base/errors/error.js";
import { isConflict, isNotFound } from "../../kube/errors.js";
import { deleteIfPresent, find } from "../../kube/objects.js";
import { collectionPath, type Kind, namedPath, objectPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { annotation, nameOf, readPath, tokenSecretName, userDataSecretName } from "../objects.js";
import type { PassInput } from "../pool/input.js";
import type { NodePool } from "../pool/node-pool.js";
import { type ObjectWrite, type ReconcileResult, reconcile } from "../pool/reconcile.js";
import { cleanUpAction, isPoolSecret, type SecretOwner } from "../token/rotation.js";
import type { WorkOutcome } from "../work-queue.js";
import { passInputOf, secretsOf, type View } from "./view.js";

interface PassOptions {
  readonly view: View;
  readonly writer: Writer;
  readonly now: () => number;
  readonly newToken?: () => string;
  readonly onError: (sentence: string) => void;
}

export function pass(key: string, options: PassOptions): Promise<WorkOutcome> {
  return attempted(options.onError, async () => {
    const input = passInputOf(options.view, key, options.newToken);
    if (input !== undefined) return passOver(key, input, options);
    await cleanUp(key, await missingPoolState(key, options), options);
    return { next: "wait" };
  });
}

/** A failure is reported and retried. A conflict is only retried: the next pass sees what somebody else wrote. */
export async function attempted(
  onError: (sentence: string) => void,
  run: () => Promise<WorkOutcome>,
): Promise<WorkOutcome> {
  try {
    return await run();
  } catch (reason) {
    if (reason instanceof LeadershipLost) return { next: "wait" };
    if (!isConflict(reason)) onError(messageOf(reason));
    return { next: "retry" };
  }
}

async function passOver(key: string, input: PassInput, options: PassOptions): Promise<WorkOutcome> {
  const result = reconcile(input, options.now());
  const { failure, pool } = await performAll(input.pool, result, options.writer);
  // Also after a failure, so that the conditions say what was found.
  if (pool !== undefined) await report(input.pool, pool, result, failure === undefined, options.writer);
  if (failure !== undefined) throw failure;
  await cleanUp(key, await ownerState(input, pool, result, options), options);
  const { requeueAt, stopped } = result;
  if (stopped !== undefined) options.onError(stopped.because);
  if (stopped?.retry === true) return { next: "retry" };
  return requeueAt === undefined ? { next: "wait" } : { next: "at", time: requeueAt };
}

/** The pool as it is after the writes; undefined when they let it go. */
async function performAll(before: NodePool, { writes }: ReconcileResult, writer: Writer) {
  let pool: NodePool | undefined = before;
  try {
    for (const write of writes) {
      const written = await writer.perform(write);
      if (write.object.kind === "NodePool") pool = written as NodePool;
    }
    // Its last finalizer went: the API has deleted it, whatever it answered.
    const isGone = before.metadata?.deletionTimestamp !== undefined && !pool?.metadata?.finalizers?.length;
    return { pool: isGone ? undefined : pool, failure: undefined };
  } catch (failure) {
    if (failure instanceof LeadershipLost) throw failure;
    return { pool, failure };
  }
}

async function report(before: NodePool, pool: NodePool, result: ReconcileResult, done: boolean, writer: Writer) {
  const version = done ? result.version : before.status?.version;
  const status = {
    ...before.status,
    conditions: result.conditions,
    ...(version === undefined ? {} : { version }),
  };
  if (isDeepStrictEqual(status, before.status ?? { conditions: [] })) return;
  await writer.updateStatus({ ...pool, status });
}

async function missingPoolState(key: string, { writer }: PassOptions): Promise<SecretOwner> {
  const name = readPath(key);
  if (name !== undefined && !(await writer.isGone(namedPath("NodePool", name)))) {
    return { state: "current", names: undefined };
  }
  return { state: "no pool" };
}

async function ownerState(
  input: PassInput,
  pool: NodePool | undefined,
  { requeueAt, stopped }: ReconcileResult,
  { writer }: PassOptions,
): Promise<SecretOwner> {
  const untouched: SecretOwner = { state: "current", names: undefined };
  if (pool === undefined || pool.metadata?.deletionTimestamp !== undefined) return untouched;
  const { namespace, name } = nameOf(pool);
  if (input.cluster === undefined) {
    const path = namedPath("ConfigMap", { namespace, name: pool.spec?.clusterName ?? "" });
    return (await writer.isGone(path)) ? { state: "no cluster" } : untouched;
  }
  if (input.cluster.deleting) return { state: "no cluster" };
  const hash = pool.metadata?.annotations?.[annotation.currentConfigVersion];
  // A pass that ended early, or a pause, says nothing about which Secrets are wanted.
  if (stopped !== undefined || requeueAt !== undefined || isPaused(pool) || hash === undefined) return untouched;
  return { state: "current", names: { token: tokenSecretName(name, hash), userData: userDataSecretName(name, hash) } };
}

function isPaused(pool: NodePool): boolean {
  return pool.spec?.pausedUntil?.toLowerCase() === "true";
}

async function cleanUp(key: string, owner: SecretOwner, { now, view, writer }: PassOptions): Promise<void> {
  for (const secret of secretsOf(view, key).filter(isPoolSecret)) {
    const verdict = cleanUpAction(secret, owner, now());
    if (verdict.action === "delete") await writer.delete(secret);
    if (verdict.action === "expire") await writer.perform({ verb: "update", object: verdict.secret });
  }
}

/** Another replica leads now, and does what is left to do. */
export class LeadershipLost extends Error {
  constructor() {
    super("another replica leads now");
  }
}

/** Writes what a pass decided, on the condition that nothing changed since, and only while this replica leads. */
export class Writer {
  readonly #api: KubeApi;
  readonly #leading: () => boolean;

  constructor(api: KubeApi, leading: () => boolean) {
    this.#api = api;
    this.#leading = leading;
  }

  /** As the API has it afterwards; undefined when it is gone. */
  async perform({ object, verb }: ObjectWrite): Promise<KubeObject | undefined> {
    this.#mustLead();
    if (verb === "create") {
      return this.#api.create(collectionPath(object.kind as Kind, object.metadata?.namespace ?? ""), object);
    }
    if (verb === "update") return this.#api.update(objectPath(object), object);
    await this.delete(object);
    return undefined;
  }

  /** What is gone already is as it should be. */
  async delete(object: KubeObject): Promise<void> {
    this.#mustLead();
    const resourceVersion = object.metadata?.resourceVersion;
    await deleteIfPresent(this.#api, objectPath(object), resourceVersion === undefined ? {} : { resourceVersion });
  }

  async updateStatus<T extends KubeObject>(object: T): Promise<void> {
    this.#mustLead();
    try {
      await this.#api.update(`${objectPath(object)}/status`, object);
    } catch (reason) {
      if (!isNotFound(reason)) throw reason;
    }
  }

  /** Asks the API itself: a copy that lags behind must not make us delete what is needed. */
  async isGone(path: string): Promise<boolean> {
    return (await find(this.#api, path)) === undefined;
  }

  #mustLead(): void {
    if (!this.#leading()) throw new LeadershipLost();
  }
}
