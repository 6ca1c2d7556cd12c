/** A directory of YAML files as a collection of Kubernetes objects: read as a whole, each file replaced whole or not at all. */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Document, parseAllDocuments } from "yaml";
import { DrawbridgeError, wrapErrors } from "../../../../base/errors/error.js";
import { LockError, withLock } from "../../../../base/file-lock.js";
import { replaceFile } from "../../../../base/files.js";
import { KubeApiError } from "../../../kube/errors.js";
import { collectionPath, type Kind } from "../../../kube/paths.js";
import type { KubeObject } from "../../../kube/port.js";
import { encoded, type Metadata, type Secret } from "../../objects.js";
import { readYamlStream } from "../../yaml.js";
import { shapeProblem } from "../apply-objects.js";

/** An object and its place in a file. */
export interface StoredObject {
  readonly object: KubeObject & { readonly metadata: Metadata };
  readonly file: string;
  /** Which document of the file. */
  readonly index: number;
}

const DEFAULT_NAMESPACE = "default";

/** Writes take milliseconds. */
const LOCK_WAIT_MS = 15_000;
const DEEPEST = 4;
const LARGEST_FILE = 8 * 1024 * 1024;

export class ObjectFiles {
  readonly #directory: string;
  /** What a file held when it last had this stamp. */
  #read = new Map<string, { stamp: string; filed: readonly StoredObject[] }>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** By `kind/namespace/name`. Throws for a file that cannot be used: nothing is decided on a part of the objects. */
  async all(): Promise<Map<string, StoredObject>> {
    const found = new Map<string, StoredObject>();
    const read = new Map<string, { stamp: string; filed: readonly StoredObject[] }>();
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
    return withLock(join(this.#directory, ".lock"), run, LOCK_WAIT_MS).catch((reason: unknown) => {
      throw reason instanceof LockError ? new DrawbridgeError("DB_NODEPOOL_DIRECTORY", reason.message) : reason;
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
    const entries = await readdir(directory, { withFileTypes: true });
    const files: string[] = [];
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(directory, entry.name);
      if (entry.name.startsWith(".")) continue;
      if (entry.isDirectory() && depth < DEEPEST) files.push(...(await this.#files(path, depth + 1)));
      if (entry.isFile() && /\.(ya?ml|json)$/.test(entry.name)) files.push(path);
    }
    return files;
  }

  async #file(file: string): Promise<{ stamp: string; filed: readonly StoredObject[] } | undefined> {
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
      throw reason;
    }
    return { stamp, filed: readObjects(file, text) };
  }

  async #replace(file: string, text: string): Promise<void> {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    // Tokens are among them.
    await replaceFile(file, text, 0o600);
  }
}

export function keyOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata?.namespace ?? ""}/${metadata?.name}`;
}

function readObjects(file: string, text: string): StoredObject[] {
  const values = wrapErrors("DB_NODEPOOL_DIRECTORY", `${file} cannot be used`, () => readYamlStream(text));
  return values.flatMap((value, index): StoredObject[] =>
    value === null || value === undefined ? [] : [{ object: completed(file, value as KubeObject), file, index }],
  );
}

/** The object with what an API server would have added. */
export function completed(file: string, object: KubeObject): StoredObject["object"] {
  const { apiVersion, kind, metadata } = object;
  if (typeof object !== "object" || !apiVersion || !kind || !metadata?.name) {
    throw unusable(file, "an object needs apiVersion, kind and metadata.name");
  }
  const problem = shapeProblem(object);
  if (problem !== undefined) throw unusable(file, `${kind} ${metadata.name}: ${problem}`);
  const named = CLUSTER_KINDS.some((one) => one === kind)
    ? metadata
    : { ...metadata, namespace: metadata.namespace ?? DEFAULT_NAMESPACE };
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

/** The object, or the collection, that a path of the API means. */
export interface ObjectPlace {
  readonly kind: Kind;
  /** Empty for objects that belong to no namespace. */
  readonly namespace: string;
  /** `kind/namespace/name`; without the name for a collection. */
  readonly key: string;
  /** Only the status is written: `/status`, and `/approval` of certificate signing requests. */
  readonly isStatus: boolean;
}

const CLUSTER_KINDS: readonly Kind[] = ["CertificateSigningRequest", "Node"];
const STORED_KINDS: readonly Kind[] = ["NodePool", "Lease", "ConfigMap", "Secret", ...CLUSTER_KINDS];
const kindsByCollection = new Map(STORED_KINDS.map((kind) => [collectionPath(kind), kind]));

const PATH =
  /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+))?(\/[^/]+)(?:\/([^/]+))?(\/status|\/approval)?$/;
/** Names become file names. */
const SAFE_NAME = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;

export function placeOf(path: string): ObjectPlace {
  const parts = PATH.exec(path)?.map((part: string | undefined) => part && decodeURIComponent(part)) ?? [];
  const [, root, namespace = "", plural, name = "", status] = parts;
  const kind = kindsByCollection.get(`${root}${plural}`);
  if (kind === undefined || (namespace === "") !== CLUSTER_KINDS.includes(kind)) {
    throw new KubeApiError(`a directory has no ${path}`, { status: 404, reason: "NotFound" });
  }
  const unsafe = [namespace, name].find((part) => part !== "" && !SAFE_NAME.test(part));
  if (unsafe !== undefined) {
    const sentence = `"${unsafe}" cannot be a name: lower-case letters, digits, dashes and dots`;
    throw new KubeApiError(sentence, { status: 422, reason: "Invalid" });
  }
  return { kind, namespace, key: `${kind}/${namespace}/${name}`, isStatus: status !== undefined };
}
