/** One command at a time on the workers of a pool: two that both make machines would make some of them twice. */
import { rmdir } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { pause, systemClock } from "../../../base/clock.js";
import { DrawbridgeError, unwrittenRemedy, wrapWrites } from "../../../base/errors/error.js";
import { LockError, withLock } from "../../../base/file-lock.js";
import { makeDirectory } from "../../../base/files.js";
import { LeaderElection } from "../../kube/leader.js";
import { type Lease, leasePath } from "../../kube/lease.js";
import { find } from "../../kube/objects.js";
import type { KubeApi } from "../../kube/port.js";
import { ensureNamespace } from "./resource-install.js";
import type { WorkerStore } from "./store.js";
import { workersError } from "./worker.js";

/** Of the processes of this host that use the same directory. */
export async function exclusively<T>(directory: string, run: () => Promise<T>): Promise<T> {
  const path = join(directory, ".lock");
  const made = await wrapWrites("DB_WORKERS", `${directory} cannot be written to`, () =>
    makeDirectory(directory, 0o700),
  );
  try {
    return await withLock(path, run);
  } catch (reason) {
    if (!(reason instanceof LockError)) throw reason;
    const { cause, holder, message } = reason;
    if (holder === undefined) {
      throw new DrawbridgeError("DB_WORKERS", message, { cause, remedy: unwrittenRemedy(cause) });
    }
    const what = `another drawbridge workers command (process ${holder}) is at work in ${directory}`;
    throw new Busy("DB_WORKERS", `${what}: wait for it, or delete ${path} if there is none`);
  } finally {
    // A command that came to nothing leaves nothing.
    if (made !== undefined) await rmdir(directory).catch(() => undefined);
  }
}

class Busy extends DrawbridgeError {}

/** Whether another command is at work in the directory, so that it can be done later. */
export function isBusy(reason: unknown): reason is DrawbridgeError {
  return reason instanceof Busy;
}

/** Another command may be at work on the pool by now. */
export class LockLost extends DrawbridgeError {}

/** Longer than a Lease lives whose holder was killed. */
const WAIT_MS = 20_000;
const LOOK_EVERY_MS = 50;

interface PoolLock {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly pool: string;
  readonly store: WorkerStore;
  readonly waitMs?: number;
}

/** Of all hosts, by a Lease beside the Workers. Waits a little for another command, and then throws. */
export async function withPoolLock<T>({ waitMs = WAIT_MS, ...lock }: PoolLock, run: () => Promise<T>): Promise<T> {
  const { api, namespace, store } = lock;
  const name = `drawbridge-workers-${lock.pool}`;
  await ensureNamespace(api, namespace);
  let problem: { sentence: string; reason: unknown } | undefined;
  const election = new LeaderElection({
    ...{ api, namespace, name },
    // The same after a kill, so that nobody waits for the Lease to run out; two at a time its directory does not allow.
    identity: `${hostname()}_${store.directory}`,
    onError: (sentence, reason) => {
      problem = { sentence, reason };
    },
  });
  election.start();
  try {
    const end = systemClock.now() + waitMs;
    while (!election.leading) {
      if (problem !== undefined)
        throw problem.reason instanceof DrawbridgeError ? problem.reason : workersError(problem.sentence);
      if (systemClock.now() > end) throw await heldBy(api, namespace, name);
      await pause(systemClock, LOOK_EVERY_MS);
    }
    store.requireLock = () => {
      if (!election.leading)
        throw new LockLost(
          "DB_WORKERS",
          `the lease ${name} in ${namespace} could not be renewed; run the command again`,
        );
    };
    return await run();
  } finally {
    store.requireLock = () => {};
    await election.stop();
  }
}

async function heldBy(api: KubeApi, namespace: string, name: string): Promise<DrawbridgeError> {
  const { holderIdentity = "somebody" } = (await find<Lease>(api, leasePath(namespace, name)))?.spec ?? {};
  return new Busy(
    "DB_WORKERS",
    `another drawbridge workers command is at work on these workers: ${holderIdentity} holds the lease ${name} in ${namespace}; wait for it`,
  );
}
