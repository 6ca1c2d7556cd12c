/** A bootstrap.ign in memory: its text, the files it carries, and what may be believed of them. */
import { createHash } from "node:crypto";
import { posix } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { DrawbridgeError } from "../../../base/errors/error.js";
import {
  type JsonArray,
  type JsonNode,
  type JsonObject,
  type JsonString,
  memberOf,
} from "../../../tunnel/wire/json/node.js";
import { type DataUrl, decodeDataUrl, encodeDataUrl, isDataUrl } from "./data-url.js";
import { parseJsonText } from "./json-text.js";

/** One entry of storage.files. */
export interface IgnitionFile {
  readonly path: string;
  readonly pathNode: JsonString;
  readonly node: JsonObject;
  /** As a number, undefined where none is given. */
  readonly mode: number | undefined;
}

export interface IgnitionConfig {
  readonly text: string;
  readonly root: JsonObject;
  readonly version: string;
  /** The storage.files array, absent in configs that have none. */
  readonly filesNode: JsonArray | undefined;
  readonly files: ReadonlyMap<string, IgnitionFile>;
  /** True when it only says where the real config is. */
  readonly pointsElsewhere: boolean;
}

/** Scripts and manifests are a few kB; what is larger is an attack or a mistake. */
const LARGEST_CONTENT = 8 * 1024 * 1024;

/** Throws DB_IGNITION_FILE, _SPEC or _CONTENT. */
export function parseIgnition(text: string): IgnitionConfig {
  const root = parseJsonText(text);
  const ignition = memberOf(root, "ignition");
  const version = memberOf(ignition, "version");
  if (root.kind !== "object" || ignition?.kind !== "object" || version?.kind !== "string")
    throw new DrawbridgeError(
      "DB_IGNITION_FILE",
      "the file is JSON but no Ignition config: it has no ignition.version",
    );
  if (!/^3\.\d+\.\d+/.test(version.value))
    throw new DrawbridgeError(
      "DB_IGNITION_SPEC",
      `the config is written in Ignition spec ${version.value}, and only spec 3 is understood`,
    );
  const storage = memberOf(root, "storage");
  const filesNode = memberOf(storage, "files");
  if (filesNode !== undefined && filesNode.kind !== "array") throw contradiction("storage.files is not a list");
  const config = memberOf(ignition, "config");
  return {
    text,
    root,
    version: version.value,
    filesNode,
    files: filesOf(filesNode, storage),
    pointsElsewhere: ["replace", "merge"].some((name) => memberOf(config, name) !== undefined),
  };
}

function filesOf(filesNode: JsonArray | undefined, storage: JsonNode | undefined): Map<string, IgnitionFile> {
  const files = new Map<string, IgnitionFile>();
  const taken = new Set<string>();
  const claim = (path: string) => {
    if (taken.has(path)) throw contradiction(`the path ${JSON.stringify(path)} stands twice in the config`);
    taken.add(path);
  };
  for (const node of filesNode?.items ?? []) {
    const [pathNode, object] = pathOf(node);
    claim(pathNode.value);
    files.set(pathNode.value, { path: pathNode.value, pathNode, node: object, mode: modeOf(object) });
  }
  for (const kind of ["directories", "links"]) {
    const list = memberOf(storage, kind);
    for (const node of list?.kind === "array" ? list.items : []) claim(pathOf(node)[0].value);
  }
  return files;
}

function pathOf(node: JsonNode): [JsonString, JsonObject] {
  const path = memberOf(node, "path");
  if (node.kind !== "object" || path?.kind !== "string") throw contradiction("an entry of storage has no path");
  const { value } = path;
  if (!value.startsWith("/") || value !== posix.normalize(value) || value.includes("\0"))
    throw contradiction(`the path ${JSON.stringify(value)} is not a plain absolute path`);
  return [path, node];
}

function modeOf(node: JsonObject): number | undefined {
  const mode = memberOf(node, "mode");
  return mode?.kind === "word" && /^\d+$/.test(mode.spelling) ? Number(mode.spelling) : undefined;
}

/** What a file holds, and how to put something else in its place without touching the rest of its entry. */
export interface Content {
  readonly url: DataUrl;
  readonly sourceNode: JsonString;
  readonly hashNode: JsonString | undefined;
  readonly gzip: boolean;
  /** Uncompressed. */
  readonly bytes: Buffer;
}

/** Undefined when the config has no such file or the file has no contents of its own (append style). */
export function contentOf(config: IgnitionConfig, path: string): Content | undefined {
  const contents = memberOf(config.files.get(path)?.node, "contents");
  const source = memberOf(contents, "source");
  if (contents?.kind !== "object" || source?.kind !== "string") return undefined;
  if (!isDataUrl(source.value))
    throw contradiction(`the content of ${path} is not in the config but fetched from elsewhere`);
  const url = decodeDataUrl(source.value, path);
  const compression = memberOf(contents, "compression");
  const gzip = compression?.kind === "string" && compression.value === "gzip";
  const bytes = gzip ? gunzipped(url.bytes, path) : url.bytes;
  if (bytes.length > LARGEST_CONTENT) throw contradiction(`the content of ${path} is larger than 8 MiB`);
  const verification = memberOf(contents, "verification");
  const hash = memberOf(verification, "hash");
  const hashNode = hash?.kind === "string" ? hash : undefined;
  if (hashNode !== undefined && hashNode.value !== hashLike(hashNode.value, bytes, path))
    throw contradiction(`the content of ${path} does not have the hash that the config gives for it`);
  return { url, sourceNode: source, hashNode, gzip, bytes };
}

/** The text of a file, undefined when there is none. Throws DB_IGNITION_CONTENT when it is no UTF-8. */
export function textOf(config: IgnitionConfig, path: string): string | undefined {
  const bytes = contentOf(config, path)?.bytes;
  return bytes === undefined ? undefined : utf8(bytes, path);
}

/** A data URL in the same spelling for other bytes. */
export function sourceFor({ url, gzip }: Content, bytes: Buffer): string {
  return encodeDataUrl({ head: url.head, bytes: gzip ? gzipSync(bytes, { level: 9 }) : bytes });
}

/** Of the same kind as `like`, which is `sha512-...` or `sha256-...`, over the uncompressed bytes. */
export function hashLike(like: string, bytes: Buffer, path: string): string {
  const kind = like.slice(0, like.indexOf("-"));
  if (kind !== "sha512" && kind !== "sha256")
    throw contradiction(`the content of ${path} has a hash of an unknown kind`);
  return `${kind}-${createHash(kind).update(bytes).digest("hex")}`;
}

export const sha256 = (content: string | Buffer): string => createHash("sha256").update(content).digest("hex");

function gunzipped(bytes: Buffer, path: string): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: LARGEST_CONTENT });
  } catch (error) {
    const large = error instanceof RangeError;
    throw contradiction(`the content of ${path} ${large ? "is larger than 8 MiB" : "is broken gzip"}`);
  }
}

export function utf8(bytes: Buffer, what: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw contradiction(`the content of ${what} is not UTF-8 text`);
  }
}

export const contradiction = (message: string) => new DrawbridgeError("DB_IGNITION_CONTENT", message);
