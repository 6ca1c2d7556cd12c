/**
 * Workers as objects of the cluster that they join, or of a directory of objects. User data and the commands that make and
 * remove machines are in a directory of this host, which may be lost.
 */

import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { pause, systemClock } from "../../../base/clock.js";
import { DrawbridgeError, messageOf, wrapErrors, wrapWrites } from "../../../base/errors/error.js";
import { makeDirectory, replaceFile } from "../../../base/files.js";
import { readTrustedFile } from "../../../base/trusted-file.js";
import { isConflict, isNotFound } from "../../kube/errors.js";
import { collectionPath, namedPath, typed } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { byName, type Metadata, parseTime } from "../objects.js";
import { currentProvider } from "../providers/index.js";
import { NO_SHAPE } from "../providers/settings.js";
import { eachOf } from "./each-of.js";
import type { WorkerObject, WorkerSpec } from "./resource.js";
import { ensureResource, isResourceMissing } from "./resource-install.js";
import { type HostSettings, type Numbers, numbered, usedNumbers, type Worker, workersError } from "./worker.js";

export interface WorkerPlace {
  /** The cluster that machines join. */
  readonly api: KubeApi;
  /** Namespace of the Workers, which is that of the approver. */
  readonly namespace: string;
  /** Directory of user data and commands. */
  readonly directory: string;
  /** Instead of those that the directory has. */
  readonly commands?: Partial<HostSettings>;
}

export const WORKERS_MANAGER = "drawbridge-workers";
const MANAGER = { fieldManager: WORKERS_MANAGER };
const ATTEMPTS = 10;
/** Requests at a time. */
export const AT_ONCE = 10;
/** A certificate of a kubelet lives for a year unless the signer was told otherwise. */
const NAME_KEPT_MS = 366 * 24 * 60 * 60_000;
/** That an approver remembers a worker that is gone. */
const RECORD_KEPT_MS = 8 * 24 * 60 * 60_000;

export class WorkerStore {
  readonly #place: WorkerPlace;
  /** As they were last seen, by name. */
  #seen = new Map<string, WorkerObject>();
  #commands: Map<string, HostSettings> | undefined;
  #isReady = false;
  /** Throws when another command may be at work on the same workers by now. */
  requireLock: () => void = () => {};

  constructor(place: WorkerPlace) {
    this.#place = place;
  }

  /** The absolute path. */
  get directory(): string {
    return resolve(this.#place.directory);
  }

  userDataFile(worker: string): string {
    return join(this.#place.directory, `${worker}.ign`);
  }

  async read(): Promise<Worker[]> {
    const objects = [...(await this.#list()).values()].filter(({ spec }) => spec?.removed === undefined);
    const commands = await this.#readCommands();
    return objects
      .flatMap((object) => workerOf(object, commands, this.#place.commands) ?? [])
      .sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  }

  /** Which numbers are used up, those of workers that are gone included. */
  async numbers(): Promise<Numbers> {
    return usedNumbers(new Map(), [...(await this.#list()).keys()]);
  }

  /** Since when a worker of that name was gone when they were last read; undefined when there never was one, or when it is there. */
  removedAt(name: string): string | undefined {
    return this.#seen.get(name)?.spec?.removed;
  }

  /** Throws NameTaken, and leaves what it made before, when a name is in use or was used before. */
  async create(workers: readonly Worker[]): Promise<void> {
    if (workers.length === 0) return;
    const { api, namespace } = this.#place;
    if (!this.#isReady) await ensureResource(api, namespace);
    this.#isReady = true;
    await this.#keepCommands(workers);
    await eachOf(workers, AT_ONCE, async (worker) => {
      const metadata = { name: worker.name, namespace };
      const object: WorkerObject = typed("Worker", { metadata, spec: specOf(worker) });
      try {
        this.#see(await api.create(collectionPath("Worker", namespace), object, MANAGER));
      } catch (reason) {
        if (!isConflict(reason)) throw reason;
        throw new NameTaken("DB_WORKERS", `the name ${worker.name} is in use, or was used before`);
      }
    });
  }

  /** Writes what `make` returns for the worker as it is now, if anything. Throws when it is gone. */
  async update(name: string, make: (worker: Worker) => Worker | undefined): Promise<void> {
    const commands = await this.#readCommands();
    let changed: Worker | undefined;
    await this.#write(name, (object) => {
      const worker = workerOf(object, commands, this.#place.commands);
      changed = worker && make(worker);
      return changed && specOf(changed);
    });
    if (changed !== undefined) await this.#keepCommands([changed]);
  }

  /** Marks a worker as gone and drops its user data. */
  async forget(worker: string): Promise<void> {
    await this.#write(worker, ({ spec }) => ({ ...spec!, removed: new Date().toISOString() }));
    await this.removeUserData(worker);
    await this.#prune(Date.now());
  }

  /** Gives a name that was used before to a machine that is installed again. */
  async revive(worker: Worker): Promise<void> {
    await this.#write(worker.name, () => specOf(worker));
    await this.#keepCommands([worker]);
  }

  /**
   * The moment after which requests are those of a machine that is installed again. It is by the API server's clock, as are
   * the times at which requests were filed, in whole seconds; when this returns, that second is over.
   */
  async installationTime(): Promise<string> {
    const { api, namespace } = this.#place;
    const metadata: Metadata = { name: `drawbridge-time-${randomUUID()}`, namespace };
    const path = collectionPath("Lease", namespace);
    const answered = await api.create(path, typed("Lease", { metadata }), { ...MANAGER, dryRun: true });
    const { creationTimestamp } = answered.metadata;
    if (creationTimestamp === undefined) throw workersError("the API server does not say what time it is");
    await pause(systemClock, 1000);
    return creationTimestamp;
  }

  async writeUserData(worker: string, text: string): Promise<string> {
    const path = this.userDataFile(worker);
    await replace(path, text);
    return path;
  }

  async removeUserData(worker: string): Promise<void> {
    await rm(this.userDataFile(worker), { force: true });
  }

  async #list(): Promise<ReadonlyMap<string, WorkerObject>> {
    const { api, namespace } = this.#place;
    try {
      this.#seen = new Map(byName((await api.list<WorkerObject>(collectionPath("Worker", namespace))).items));
    } catch (reason) {
      if (!isResourceMissing(reason)) throw reason;
      this.#seen = new Map();
    }
    return this.#seen;
  }

  /** On the condition that nobody wrote since it was read; what somebody else changed stays. */
  async #write(name: string, make: (object: WorkerObject) => WorkerSpec | undefined): Promise<void> {
    const { api, namespace } = this.#place;
    const path = namedPath("Worker", { namespace, name });
    let object = this.#seen.get(name);
    for (let left = ATTEMPTS; ; left--) {
      try {
        object ??= await api.get<WorkerObject>(path);
        const spec = make(object);
        if (spec === undefined || isDeepStrictEqual(spec, object.spec)) return;
        this.#see(await api.update(path, typed("Worker", { ...object, spec }), MANAGER));
        return;
      } catch (reason) {
        if (isNotFound(reason)) throw workersError(`there is no worker ${name} any more`);
        if (!isConflict(reason) || left === 1) throw reason;
        object = undefined;
      }
    }
  }

  #see(object: WorkerObject): void {
    this.#seen.set(object.metadata?.name ?? "", object);
  }

  /** Of those that are gone the one with the highest number of its kind stays for as long as its certificates may live. */
  async #prune(now: number): Promise<void> {
    const { api, namespace } = this.#place;
    const highest = usedNumbers(new Map(), [...this.#seen.keys()]);
    for (const [name, { metadata, spec }] of this.#seen) {
      const age = now - Date.parse(spec?.removed ?? "");
      const isNeeded = !isCovered(name, highest);
      if (!(age > (isNeeded ? NAME_KEPT_MS : RECORD_KEPT_MS))) continue;
      const { resourceVersion } = metadata ?? {};
      // Whoever was faster has done it.
      await api
        .delete(namedPath("Worker", { namespace, name }), resourceVersion === undefined ? {} : { resourceVersion })
        .catch((reason: unknown) => {
          if (!isConflict(reason) && !isNotFound(reason)) throw reason;
        });
      this.#seen.delete(name);
    }
  }

  get #commandsFile(): string {
    return join(this.#place.directory, "commands.json");
  }

  async #readCommands(): Promise<ReadonlyMap<string, HostSettings>> {
    if (this.#commands !== undefined) return this.#commands;
    const path = this.#commandsFile;
    // They are run.
    const text = await readTrustedFile(resolve(path)).catch((reason: unknown) => {
      throw reason instanceof DrawbridgeError ? reason : workersError(`${path} cannot be read: ${messageOf(reason)}`);
    });
    this.#commands = wrapErrors("DB_WORKERS", `${path} cannot be used`, () => {
      const found = Object.entries(JSON.parse(text ?? "{}") as Record<string, HostSettings>);
      const isCommand = (words: unknown) => Array.isArray(words) && words.every((word) => typeof word === "string");
      const isGood = ({ connection = "", createArguments = [], createCommand, deleteCommand }: HostSettings) =>
        [createArguments, createCommand, deleteCommand].every(isCommand) && typeof connection === "string";
      if (!found.every(([, one]) => isGood(one))) {
        throw new Error("it does not hold commands");
      }
      return new Map(found);
    });
    return this.#commands;
  }

  async #keepCommands(workers: readonly Worker[]): Promise<void> {
    const before = await this.#readCommands();
    const fresh = workers.flatMap((worker) => {
      const settings = hostSettingsOf(worker);
      const isEmpty = Object.values(settings).every((value) => value.length === 0);
      return isEmpty && !before.has(worker.name) ? [] : [[worker.name, settings] as const];
    });
    if (fresh.every(([name, commands]) => isDeepStrictEqual(before.get(name), commands))) return;
    this.#commands = new Map([...before, ...fresh]);
    await replace(this.#commandsFile, `${JSON.stringify(Object.fromEntries(this.#commands), undefined, 2)}\n`);
  }
}

/** Another worker has the name, or had it. */
export class NameTaken extends DrawbridgeError {}

/** Whether a higher number of the same prefix is used as well. */
function isCovered(name: string, highest: Numbers): boolean {
  const own = numbered(name);
  return own !== undefined && (highest.get(own.prefix) ?? 0) > own.number + 1;
}

/** Undefined for an object that is none of ours: somebody wrote it by hand, and it has no pool. */
function workerOf(object: WorkerObject, known: ReadonlyMap<string, HostSettings>, instead: Partial<HostSettings> = {}) {
  const { metadata, spec, status } = object;
  if (spec?.pool === undefined || metadata?.name === undefined) return undefined;
  const { provider, removed: _, shape, ...rest } = spec;
  const commands = known.get(metadata.name) ?? { createCommand: [], deleteCommand: [] };
  const at = metadata.creationTimestamp ?? "";
  // The rest was seen of a machine that had the name before.
  const seen = parseTime(status?.installation) === parseTime(spec.reinstalled) ? status : undefined;
  return {
    ...{ zone: "", hash: "", ips: [], made: false, ownToken: false, notBefore: at, deadline: at },
    ...{ ...rest, name: metadata.name, provider: currentProvider(provider), shape: { ...NO_SHAPE, ...shape } },
    ...{ ...commands, ...instead },
    ...(seen?.served && { served: seen.served.hash }),
    ...(seen?.readyAt && { readyAt: seen.readyAt }),
  } as Worker;
}

function hostSettingsOf({ connection, createArguments, createCommand, deleteCommand }: Worker): HostSettings {
  return {
    ...{ createCommand, deleteCommand },
    ...(createArguments && { createArguments }),
    ...(connection !== undefined && { connection }),
  };
}

function specOf(worker: Worker): WorkerSpec {
  const { connection: _, createArguments, createCommand: __, deleteCommand, name: ___, ...kept } = worker;
  const { hasCreateArguments, readyAt: _a, served: _b, shape, ...rest } = kept;
  const hasArguments = createArguments === undefined ? hasCreateArguments === true : createArguments.length > 0;
  const isRemovable = worker.provider === "command" && (deleteCommand.length > 0 || worker.removedByCommand === true);
  const given = Object.entries(shape).filter(([, value]) => value !== "");
  const spec = {
    ...rest,
    ...(given.length > 0 && { shape: Object.fromEntries(given) }),
    ...(isRemovable && { removedByCommand: true }),
    ...(hasArguments && { hasCreateArguments: true }),
  };
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined)) as unknown as WorkerSpec;
}

/** Whole or not at all; tokens are in some of them. */
export async function replace(path: string, text: string): Promise<void> {
  await wrapWrites("DB_WORKERS", `${path} cannot be written`, async () => {
    await makeDirectory(dirname(path), 0o700);
    await replaceFile(path, text, 0o600);
  });
}
