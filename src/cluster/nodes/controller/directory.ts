/** The Kubernetes port on a directory of YAML objects: for trying things, and for a handful of machines without any cluster. */
import { createHash, randomUUID } from "node:crypto";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Document, parseAllDocuments } from "yaml";
import { pause, systemClock } from "../../../base/clock.js";
import { DrawbridgeError, messageOf, unwrittenRemedy, wrapErrors, wrapWrites } from "../../../base/errors/error.js";
import { LockError, withLock } from "../../../base/file-lock.js";
import { makeDirectory, replaceFile } from "../../../base/files.js";
import { KubeApiError } from "../../kube/errors.js";
import { collectionPath, isClusterWide, type Kind } from "../../kube/paths.js";
import type { KubeApi, KubeList, KubeObject, KubeWatchOptions, ListOptions, WatchEvent } from "../../kube/port.js";
import { encoded, type Metadata, type Secret, secondTime } from "../objects.js";
import { readYamlStream } from "../yaml.js";
import { shapeProblem } from "./apply-objects.js";

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

/** `pollMs`: how often watches look. */
export function createDirectoryApi({ directory, pollMs }: { directory: string; pollMs?: number }): KubeApi {
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
    create: (path, object, { dryRun = false } = {}) =>
      change(`${path}/${object.metadata?.name}`, async (found, place) => {
        if (found !== undefined) throw failure(409, "AlreadyExists", `${place.key} exists already`);
        const { status: _ignored, ...rest } = object as KubeObject & { status?: unknown };
        const fresh = made(rest, place);
        return dryRun ? (fresh as KubeObject as typeof object) : put(fresh, undefined, place);
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
const KINDS_WITH_STATUS = ["NodePool", "Worker", "Node", "CertificateSigningRequest"];

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

/** An object and its place in a file. */
export interface StoredObject {
  readonly object: KubeObject & { readonly metadata: Metadata };
  readonly file: string;
  /** Which document of the file. */
  readonly index: number;
}

interface ReadFile {
  readonly stamp: string;
  readonly filed: readonly StoredObject[];
}

const DEFAULT_NAMESPACE = "default";

/** Writes take milliseconds. */
const LOCK_WAIT_MS = 15_000;
const DEEPEST = 4;
const LARGEST_FILE = 8 * 1024 * 1024;

/** A directory of YAML files as a collection of Kubernetes objects: read as a whole, each file replaced whole or not at all. */
class ObjectFiles {
  readonly #directory: string;
  /** What a file held when it last had this stamp. */
  #read = new Map<string, ReadFile>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** By `kind/namespace/name`. Throws for a file that cannot be used: nothing is decided on a part of the objects. */
  async all(): Promise<Map<string, StoredObject>> {
    const found = new Map<string, StoredObject>();
    const read = new Map<string, ReadFile>();
    for (const file of await this.#files(this.#directory, 0)) {
      const entry = await this.#file(file);
      if (entry === undefined) continue;
      read.set(file, entry);
      for (const filed of entry.filed) {
        const key = keyOf(filed.object);
        const other = found.get(key);
        if (other !== undefined) throw unusable(file, `${key} is in ${other.file} as well`);
        found.set(key, filed);
      }
    }
    this.#read = read;
    return found;
  }

  /** One writer at a time in the directory, of all processes. */
  alone<T>(run: () => Promise<T>): Promise<T> {
    return withLock(join(this.#directory, ".lock"), run, LOCK_WAIT_MS).catch(async (reason: unknown) => {
      if (!(reason instanceof LockError)) throw reason;
      await entriesOf(this.#directory);
      const { cause, message } = reason;
      throw new DrawbridgeError("DB_NODEPOOL_DIRECTORY", message, { cause, remedy: unwrittenRemedy(cause) });
    });
  }

  /** Replaces the object in its file, or makes a file for it. */
  async put(object: KubeObject, where: StoredObject | undefined): Promise<void> {
    const { kind = "", metadata } = object;
    const parts = [kind.toLowerCase(), metadata?.namespace, metadata?.name].filter(Boolean);
    const file = where?.file ?? join(this.#directory, `${parts.join("_")}.yaml`);
    const { resourceVersion: _derived, ...kept } = metadata ?? {};
    const documents = where === undefined ? [] : parseAllDocuments(await readFile(file, "utf8"));
    const index = where?.index ?? 0;
    const changed = new Document({ ...object, metadata: kept }, { aliasDuplicateObjects: false });
    const comment = documents[index]?.commentBefore;
    if (comment) changed.commentBefore = comment;
    await this.#replace(file, documentsText([...documents.slice(0, index), changed, ...documents.slice(index + 1)]));
  }

  async remove({ file, index }: StoredObject): Promise<void> {
    const documents = parseAllDocuments(await readFile(file, "utf8")).filter((_, at) => at !== index);
    if (documents.some((document) => document.contents !== null)) await this.#replace(file, documentsText(documents));
    else await rm(file, { force: true });
  }

  async #files(directory: string, depth: number): Promise<string[]> {
    const entries = await entriesOf(directory);
    const files: string[] = [];
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(directory, entry.name);
      if (entry.name.startsWith(".")) continue;
      if (entry.isDirectory() && depth < DEEPEST) files.push(...(await this.#files(path, depth + 1)));
      if (entry.isFile() && /\.(ya?ml|json)$/.test(entry.name)) files.push(path);
    }
    return files;
  }

  async #file(file: string): Promise<ReadFile | undefined> {
    let stamp: string;
    let text: string;
    try {
      const { ino, mtimeNs, size } = await stat(file, { bigint: true });
      if (size > LARGEST_FILE) throw unusable(file, `it has ${size} bytes`);
      stamp = `${ino} ${mtimeNs} ${size}`;
      const before = this.#read.get(file);
      if (before?.stamp === stamp) return before;
      text = await readFile(file, "utf8");
    } catch (reason) {
      // Deleted since the directory was read.
      if ((reason as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw reason instanceof DrawbridgeError ? reason : unusable(file, messageOf(reason));
    }
    return { stamp, filed: readObjects(file, text) };
  }

  async #replace(file: string, text: string): Promise<void> {
    await wrapWrites("DB_NODEPOOL_DIRECTORY", `${file} cannot be written`, async () => {
      await makeDirectory(dirname(file), 0o700);
      // Tokens are among them; a file that the user made keeps the mode it has.
      await replaceFile(file, text, 0o600, { keep: true });
    });
  }
}

async function entriesOf(directory: string) {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch (reason) {
    const isAbsent = (reason as NodeJS.ErrnoException).code === "ENOENT";
    throw unusable(directory, isAbsent ? "it does not exist; create it, or correct --directory" : messageOf(reason));
  }
}

export function keyOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata?.namespace ?? ""}/${metadata?.name}`;
}

function readObjects(file: string, text: string): StoredObject[] {
  const values = wrapErrors("DB_NODEPOOL_DIRECTORY", `${file} cannot be used`, () => readYamlStream(text));
  return values.flatMap((value, index): StoredObject[] =>
    value === null || value === undefined ? [] : [{ object: completedObject(file, value as KubeObject), file, index }],
  );
}

/** The object with what an API server would have added. */
export function completedObject(file: string, object: KubeObject): StoredObject["object"] {
  const { apiVersion, kind, metadata } = object;
  if (typeof object !== "object" || !apiVersion || !kind || !metadata?.name) {
    throw unusable(file, "an object needs apiVersion, kind and metadata.name");
  }
  const problem = shapeProblem(object);
  if (problem !== undefined) throw unusable(file, `${kind} ${metadata.name}: ${problem}`);
  const isNamespaced = !STORED_KINDS.some((stored) => stored === kind && isClusterWide(stored));
  const named = isNamespaced ? { ...metadata, namespace: metadata.namespace ?? DEFAULT_NAMESPACE } : metadata;
  const uid = metadata.uid ?? digest(keyOf({ kind, metadata: named }));
  const whole = { ...withoutTexts(object), metadata: { ...named, uid } };
  return { ...whole, metadata: { ...whole.metadata, resourceVersion: digest(JSON.stringify(whole)) } };
}

/** Texts that a person wrote into a Secret become what the API would have made of them. */
function withoutTexts(object: KubeObject): KubeObject {
  const { stringData, ...secret } = object as Secret & { readonly stringData?: Readonly<Record<string, unknown>> };
  if (object.kind !== "Secret" || stringData === undefined) return object;
  const texts = Object.entries(stringData).map(([key, text]) => [key, encoded(String(text))]);
  return { ...secret, data: { ...secret.data, ...Object.fromEntries(texts) } } as Secret;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** Documents parsed from a file with a directive marker keep it; the first needs none. */
function documentsText(documents: readonly { toString(): string }[]): string {
  return documents.map((document) => document.toString().replace(/^---\n/, "")).join("---\n");
}

function unusable(file: string, why: string): DrawbridgeError {
  return new DrawbridgeError("DB_NODEPOOL_DIRECTORY", `${file} cannot be used: ${why}`);
}

type ObjectPlace = ReturnType<typeof placeOf>;

const STORED_KINDS: readonly Kind[] = [
  ...(["NodePool", "Worker", "Lease", "ConfigMap", "Secret"] as const),
  ...(["CertificateSigningRequest", "Node"] as const),
];
const kindsByCollection = new Map(STORED_KINDS.map((kind) => [collectionPath(kind), kind]));

const PATH =
  /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+))?(\/[^/]+)(?:\/([^/]+))?(\/status|\/approval)?$/;
/** Names become file names. */
const SAFE_NAME = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;

/** The object, or the collection, that a path of the API means. */
function placeOf(path: string) {
  const parts = PATH.exec(path)?.map((part: string | undefined) => part && decodeURIComponent(part)) ?? [];
  const [, root, namespace = "", plural, name = "", status] = parts;
  const kind = kindsByCollection.get(`${root}${plural}`);
  if (kind === undefined || (namespace === "") !== isClusterWide(kind)) {
    throw new KubeApiError(`a directory has no ${path}`, { status: 404, reason: "NotFound" });
  }
  const unsafe = [namespace, name].find((part) => part !== "" && !SAFE_NAME.test(part));
  if (unsafe !== undefined) {
    const sentence = `"${unsafe}" cannot be a name: lower-case letters, digits, dashes and dots`;
    throw new KubeApiError(sentence, { status: 422, reason: "Invalid" });
  }
  // The namespace is empty for objects that belong to none, and the key of a collection ends with the slash.
  return { kind, namespace, key: `${kind}/${namespace}/${name}`, isStatus: status !== undefined };
}
