/** A directory of YAML files as a collection of Kubernetes objects: read as a whole, each file replaced whole or not at all. */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Document, parseAllDocuments } from "yaml";
import { DrawbridgeError, messageOf } from "../../../../base/errors/error.js";
import { replaceFile } from "../../../../base/files.js";
import type { KubeObject } from "../../../kube/port.js";
import { encoded, type Metadata, type Secret } from "../../objects.js";
import { locked } from "./lock.js";
import { isClusterKind } from "./place.js";
import { shapeProblem } from "./shape.js";

/** An object and where it stands. */
export interface Filed {
  readonly object: KubeObject & { readonly metadata: Metadata };
  readonly file: string;
  /** Which document of the file. */
  readonly index: number;
}

export const DEFAULT_NAMESPACE = "default";

const DEEPEST = 4;
const LARGEST_FILE = 8 * 1024 * 1024;

export class ObjectFiles {
  readonly #directory: string;
  /** What a file held when it last had this stamp. */
  #read = new Map<string, { stamp: string; filed: readonly Filed[] }>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** By `kind/namespace/name`. Throws for a file that cannot be used: half a world must not be acted upon. */
  async all(): Promise<Map<string, Filed>> {
    const found = new Map<string, Filed>();
    const read = new Map<string, { stamp: string; filed: readonly Filed[] }>();
    for (const file of await this.#files(this.#directory, 0)) {
      const entry = await this.#file(file);
      if (entry === undefined) continue;
      read.set(file, entry);
      for (const filed of entry.filed) {
        const key = keyOf(filed.object);
        const other = found.get(key);
        if (other !== undefined) throw unusable(file, `${key} stands in ${other.file} as well`);
        found.set(key, filed);
      }
    }
    this.#read = read;
    return found;
  }

  alone<T>(run: () => Promise<T>): Promise<T> {
    return locked(this.#directory, run);
  }

  /** Replaces it where it stands, or makes a file for it. */
  async put(object: KubeObject, where: Filed | undefined): Promise<void> {
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

  async remove({ file, index }: Filed): Promise<void> {
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

  async #file(file: string): Promise<{ stamp: string; filed: readonly Filed[] } | undefined> {
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

function readObjects(file: string, text: string): Filed[] {
  return parseAllDocuments(text).flatMap((document, index): Filed[] => {
    const [error] = document.errors;
    // The parser's own words may repeat a line of a Secret.
    if (error !== undefined) throw unusable(file, `line ${error.linePos?.[0].line ?? 1} is not YAML`);
    let value: unknown;
    try {
      value = document.toJS({ maxAliasCount: 100 });
    } catch (reason) {
      throw unusable(file, messageOf(reason));
    }
    if (value === null || value === undefined) return [];
    return [{ object: completed(file, value as KubeObject), file, index }];
  });
}

/** With what an API server would have added. */
export function completed(file: string, object: KubeObject): Filed["object"] {
  const { apiVersion, kind, metadata } = object;
  if (typeof object !== "object" || !apiVersion || !kind || !metadata?.name) {
    throw unusable(file, "an object needs apiVersion, kind and metadata.name");
  }
  const problem = shapeProblem(object);
  if (problem !== undefined) throw unusable(file, `${kind} ${metadata.name}: ${problem}`);
  const named = isClusterKind(kind) ? metadata : { ...metadata, namespace: metadata.namespace ?? DEFAULT_NAMESPACE };
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
