/** The Kubernetes port on a directory of YAML objects: for trying things, and for a handful of machines without any cluster. */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { pause, systemClock } from "../../../../base/clock.js";
import { KubeApiError } from "../../../kube/errors.js";
import type { KubeApi, KubeList, KubeObject, KubeWatchOptions, ListOptions, WatchEvent } from "../../../kube/port.js";
import { type Metadata, secondTime } from "../../objects.js";
import { keyOf, ObjectFiles, type ObjectPlace, placeOf, type StoredObject } from "./files.js";

interface DirectoryApiOptions {
  readonly directory: string;
  /** How often watches look. Default half a second. */
  readonly pollMs?: number;
}

type Snapshot = ReadonlyMap<string, KubeObject>;
type Stored = KubeObject & { readonly metadata: Metadata; readonly status?: unknown };

const DEFAULT_POLL_MS = 500;
/** Of lists that can still be watched from. */
const MOST_SNAPSHOTS = 16;

/** Where the objects are. */
export interface ObjectStore {
  /** By `kind/namespace/name`. */
  all(): Promise<ReadonlyMap<string, StoredObject>>;
  put(object: KubeObject, where: StoredObject | undefined): Promise<void>;
  remove(filed: StoredObject): Promise<void>;
  /** One writer at a time. */
  alone<T>(run: () => Promise<T>): Promise<T>;
}

export function createDirectoryApi({ directory, pollMs = DEFAULT_POLL_MS }: DirectoryApiOptions): KubeApi {
  return createObjectApi(new ObjectFiles(directory), pollMs);
}

export function createObjectApi(files: ObjectStore, pollMs = DEFAULT_POLL_MS): KubeApi {
  const snapshots = new Map<string, Snapshot>();
  let lists = 0;

  async function snapshot(place: ObjectPlace, labelSelector = ""): Promise<Snapshot> {
    const all = await files.all();
    const wanted = [...all].filter(
      ([, { object }]) => object.kind === place.kind && isIn(object, place) && matches(object, labelSelector),
    );
    return new Map(wanted.map(([key, { object }]) => [key, object]));
  }

  async function list<T extends KubeObject>(path: string, { labelSelector }: ListOptions = {}): Promise<KubeList<T>> {
    const seen = await snapshot(placeOf(path), labelSelector);
    const resourceVersion = `list-${++lists}`;
    snapshots.set(resourceVersion, seen);
    for (const old of snapshots.keys()) {
      if (snapshots.size <= MOST_SNAPSHOTS) break;
      snapshots.delete(old);
    }
    return { metadata: { resourceVersion }, items: [...seen.values()] as T[] };
  }

  async function* watch<T extends KubeObject>(
    path: string,
    { labelSelector, onOpen, resourceVersion, signal }: KubeWatchOptions,
  ): AsyncGenerator<WatchEvent<T>, void, void> {
    const found = snapshots.get(resourceVersion);
    if (found === undefined) throw failure(410, "Expired", `${resourceVersion} is not remembered any more`);
    let before = found;
    onOpen?.();
    while (!signal.aborted) {
      const now = await snapshot(placeOf(path), labelSelector);
      for (const event of eventsBetween(before, now)) yield event as WatchEvent<T>;
      before = now;
      await pause(systemClock, pollMs, signal);
    }
  }

  /** Everything that changes a file goes through here: what is decided on is what is replaced. */
  async function change<T>(
    path: string,
    decide: (found: StoredObject | undefined, place: ObjectPlace) => Promise<T>,
  ): Promise<T> {
    const place = placeOf(path);
    return files.alone(async () => decide((await files.all()).get(place.key), place));
  }

  async function stored<T extends KubeObject>(place: ObjectPlace): Promise<T> {
    const found = (await files.all()).get(place.key);
    if (found === undefined) throw missing(place);
    return found.object as unknown as T;
  }

  /** The last finalizer of an object that is being deleted takes it along. */
  async function put<T extends KubeObject>(
    object: Stored,
    found: StoredObject | undefined,
    place: ObjectPlace,
  ): Promise<T> {
    if (object.metadata.deletionTimestamp !== undefined && !object.metadata.finalizers?.length) {
      if (found !== undefined) await files.remove(found);
      return object as unknown as T;
    }
    await files.put(object, found);
    return stored<T>(place);
  }

  return {
    get: async (path) => stored(placeOf(path)),
    text: async (path) => {
      throw failure(404, "NotFound", `a directory has no ${path}`);
    },
    list,
    watch,
    create: (path, object) =>
      change(`${path}/${object.metadata?.name}`, async (found, place) => {
        if (found !== undefined) throw failure(409, "AlreadyExists", `${place.key} exists already`);
        const { status: _ignored, ...rest } = object as KubeObject & { status?: unknown };
        return put(made(rest, place), undefined, place);
      }),
    update: (path, object) =>
      change(path, async (found, place) => {
        if (found === undefined) throw missing(place);
        expectVersion(found, object.metadata?.resourceVersion);
        return put(merged(found.object, object, place), found, place);
      }),
    apply: (path, object) =>
      change(path, async (found, place) => {
        if (found === undefined) return put(made(object, place), undefined, place);
        const { annotations, labels } = object.metadata ?? {};
        const metadata = {
          ...found.object.metadata,
          ...(labels && { labels: { ...found.object.metadata.labels, ...labels } }),
          ...(annotations && { annotations: { ...found.object.metadata.annotations, ...annotations } }),
        };
        return put({ ...found.object, ...object, metadata }, found, place);
      }),
    delete: (path, { resourceVersion } = {}) =>
      change(path, async (found, place) => {
        if (found === undefined) throw missing(place);
        expectVersion(found, resourceVersion);
        const { metadata } = found.object;
        if (!metadata.finalizers?.length) return files.remove(found);
        const deletionTimestamp = metadata.deletionTimestamp ?? secondTime(Date.now());
        await files.put({ ...found.object, metadata: { ...metadata, deletionTimestamp } } as KubeObject, found);
      }),
    close: () => {},
  };
}

function made(object: KubeObject, { namespace, kind }: ObjectPlace): Stored {
  const metadata = {
    ...object.metadata,
    ...(namespace === "" ? {} : { namespace }),
    uid: randomUUID(),
    creationTimestamp: secondTime(Date.now()),
  };
  return { ...object, kind, metadata };
}

/** Their status is written through its own path, and nothing else is written through that. */
const KINDS_WITH_STATUS = ["NodePool", "Node", "CertificateSigningRequest"];

function merged(before: Stored, object: KubeObject, { isStatus, kind }: ObjectPlace): Stored {
  const { status } = object as Stored;
  if (isStatus) return { ...before, status };
  const { creationTimestamp, deletionTimestamp, uid } = before.metadata;
  const kept = KINDS_WITH_STATUS.includes(kind) ? before.status : status;
  return {
    ...object,
    metadata: {
      ...object.metadata,
      ...(uid && { uid }),
      ...(creationTimestamp && { creationTimestamp }),
      ...(deletionTimestamp && { deletionTimestamp }),
    },
    ...(kept === undefined ? {} : { status: kept }),
  };
}

function eventsBetween(before: Snapshot, now: Snapshot): WatchEvent<KubeObject>[] {
  const events: WatchEvent<KubeObject>[] = [];
  for (const [key, object] of now) {
    const old = before.get(key);
    if (old === undefined) events.push({ type: "ADDED", object });
    else if (!isDeepStrictEqual(old, object)) events.push({ type: "MODIFIED", object });
  }
  for (const [key, object] of before) if (!now.has(key)) events.push({ type: "DELETED", object });
  return events;
}

function isIn({ metadata }: KubeObject, { namespace }: ObjectPlace): boolean {
  return (metadata?.namespace ?? "") === namespace;
}

/** Equality only, which is all that is asked for. */
function matches({ metadata }: KubeObject, selector: string): boolean {
  return selector
    .split(",")
    .filter((part) => part !== "")
    .every((part) => {
      const [key = "", value] = part.split("=");
      return metadata?.labels?.[key] === value;
    });
}

function expectVersion({ object }: StoredObject, version: string | undefined): void {
  if (version === undefined || version === object.metadata.resourceVersion) return;
  throw failure(409, "Conflict", `${keyOf(object)} was changed meanwhile`);
}

function missing({ key }: ObjectPlace): KubeApiError {
  return failure(404, "NotFound", `${key} does not exist`);
}

function failure(status: number, reason: string, sentence: string): KubeApiError {
  return new KubeApiError(sentence, { status, reason });
}
