/** A bootstrap.ign in memory: its text, the files it carries, and what may be believed of them. */
import { createHash } from "node:crypto";
import { posix } from "node:path";
import { gzipSync } from "node:zlib";
import { at } from "../../../base/at.js";
import { dataUrlOf, readDataUrl } from "../../../base/data-url.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import {
  type JsonArray,
  JsonError,
  type JsonNode,
  type JsonObject,
  type JsonString,
  memberOf,
  readJson,
  repeatedMember,
  type TextEdit,
} from "../../../base/located-json.js";
import { utf8Text } from "../../../base/text.js";
import { received } from "../../ignition/resource.js";
import { yamlOf } from "../settings/programs.js";
import type { PayloadFile } from "./payload.js";

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
  /** The storage.files array, absent in configs that have none. */
  readonly filesNode: JsonArray | undefined;
  readonly files: ReadonlyMap<string, IgnitionFile>;
  /** True when it only says where the real config is. */
  readonly pointsElsewhere: boolean;
}

/** Scripts and manifests are a few kB; what is larger is an attack or a mistake. */
const LARGEST_CONTENT = 8 * 1024 * 1024;

/**
 * Throws DB_IGNITION_FILE, _SPEC or _CONTENT. The config is never written again as a whole: what is not edited keeps its
 * bytes, its order, the spelling of its numbers and the members that nobody here knows.
 */
export function parseIgnition(text: string): IgnitionConfig {
  const root = read(text);
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
    filesNode,
    files: filesOf(filesNode, storage),
    pointsElsewhere: ["replace", "merge"].some((name) => memberOf(config, name) !== undefined),
  };
}

function read(text: string): JsonNode {
  try {
    const root = readJson(text);
    const repeated = repeatedMember(root);
    if (repeated === undefined) return root;
    // Ignition takes the later one, other readers the first: an edit of one of them could be lost.
    throw contradiction(`the member ${JSON.stringify(repeated.name)} occurs twice in one object`);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const code = error.kind === "grammar" ? "DB_IGNITION_FILE" : "DB_IGNITION_CONTENT";
    throw new DrawbridgeError(code, `the file cannot be used: ${error.message}`);
  }
}

function filesOf(filesNode: JsonArray | undefined, storage: JsonNode | undefined): Map<string, IgnitionFile> {
  const files = new Map<string, IgnitionFile>();
  const taken = new Set<string>();
  const claim = (path: string) => {
    if (taken.has(path)) throw contradiction(`the path ${JSON.stringify(path)} occurs twice in the config`);
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

/** The content of a file, and what is needed to put other bytes in its place without touching the rest of its entry. */
export interface CarriedContent {
  /** The part of the data URL before the comma. */
  readonly head: string;
  readonly sourceNode: JsonString;
  readonly hashNode: JsonString | undefined;
  readonly gzip: boolean;
  /** Uncompressed. */
  readonly bytes: Buffer;
}

/**
 * Undefined when the config has no such file or the file has no contents of its own (append style). Throws
 * DB_IGNITION_CONTENT or DB_IGNITION_RESOURCE.
 */
export function carriedContent(config: IgnitionConfig, path: string): CarriedContent | undefined {
  const contents = memberOf(config.files.get(path)?.node, "contents");
  const sourceNode = stringAt(contents, "source");
  if (sourceNode === undefined) return undefined;
  const source = sourceNode.value;
  const what = `the content of ${path}`;
  if (!source.startsWith("data:")) throw contradiction(`${what} is not in the config but fetched from elsewhere`);
  const url = readDataUrl(source);
  if (!url.ok) throw contradiction(`${what} cannot be read: ${url.why}`);
  const gzip = stringAt(contents, "compression")?.value === "gzip";
  const hashNode = stringAt(memberOf(contents, "verification"), "hash");
  const resource = {
    source,
    ...(gzip && { compression: "gzip" }),
    ...(hashNode && { verification: { hash: hashNode.value } }),
  };
  const bytes = received(resource, url.bytes, what, LARGEST_CONTENT);
  return { head: url.head, sourceNode, hashNode, gzip, bytes };
}

function stringAt(node: JsonNode | undefined, name: string): JsonString | undefined {
  const member = memberOf(node, name);
  return member?.kind === "string" ? member : undefined;
}

/** The text of a file, undefined when there is none. Throws DB_IGNITION_CONTENT when it is no UTF-8. */
export function textOf(config: IgnitionConfig, path: string): string | undefined {
  const bytes = carriedContent(config, path)?.bytes;
  if (bytes === undefined) return undefined;
  const text = utf8Text(bytes);
  if (text === undefined) throw contradiction(`the content of ${path} is not UTF-8 text`);
  return text;
}

/** The edits that give an entry other bytes, in the encoding, the compression and the hash function that it has. */
export function replaceContent({ head, gzip, sourceNode, hashNode }: CarriedContent, bytes: Buffer): TextEdit[] {
  const stored = gzip ? gzipSync(bytes, { level: 9 }) : bytes;
  const edits = [{ node: sourceNode, value: dataUrlOf(stored, head) }];
  if (hashNode !== undefined) {
    const name = hashNode.value.slice(0, hashNode.value.indexOf("-"));
    edits.push({ node: hashNode, value: `${name}-${createHash(name).update(bytes).digest("hex")}` });
  }
  return edits.map(({ node, value }) => ({ start: node.start, end: node.end, text: JSON.stringify(value) }));
}

export const sha256 = (content: string | Buffer): string => createHash("sha256").update(content).digest("hex");

const contradiction = (message: string) => new DrawbridgeError("DB_IGNITION_CONTENT", message);

/** Where the entries that ours replace are kept, to the byte; the host gets them too, for comparison. */
const ASIDE = "/opt/openshift/drawbridge-replaced";

export const asidePath = (path: string): string => ASIDE + path;

/** The text of an entry as it was, under the other path. */
export function asideEntry(config: IgnitionConfig, { node, pathNode }: IgnitionFile): string {
  const at = pathNode.start + 1;
  return config.text.slice(node.start, at) + ASIDE + config.text.slice(at, node.end);
}

/** The reverse. */
export function broughtBack(config: IgnitionConfig, { node, pathNode }: IgnitionFile): string {
  const at = pathNode.start + 1;
  if (!config.text.startsWith(ASIDE, at))
    throw contradiction(`the entry ${pathNode.value} was rewritten by another tool`);
  return config.text.slice(node.start, at) + config.text.slice(at + ASIDE.length, node.end);
}

export function fileText({ path, mode, text }: PayloadFile): string {
  const source = dataUrlOf(text);
  return JSON.stringify({ path, overwrite: true, user: { name: "root" }, mode, contents: { source } });
}

export const replaceEntry = ({ node }: IgnitionFile, text: string): TextEdit => ({
  start: node.start,
  end: node.end,
  text,
});

export function appendEntries(config: IgnitionConfig, entries: readonly string[]): TextEdit[] {
  const last = config.filesNode?.items.at(-1);
  if (last === undefined) throw contradiction("storage.files is empty");
  return entries.length === 0
    ? []
    : [{ start: last.end, end: last.end, text: entries.map((entry) => `,${entry}`).join("") }];
}

/** Takes entries out together with the commas and the white space that came with them. */
export function dropEntries({ filesNode }: IgnitionConfig, doomed: ReadonlySet<IgnitionFile["node"]>): TextEdit[] {
  const items = filesNode?.items ?? [];
  const edits: TextEdit[] = [];
  for (let i = 0; i < items.length; i++) {
    const isDoomed = (k: number) => doomed.has(items[k] as IgnitionFile["node"]);
    if (!isDoomed(i)) continue;
    const first = i;
    while (i + 1 < items.length && isDoomed(i + 1)) i += 1;
    const start = items[first - 1]?.end ?? items[first]!.start;
    const end = first === 0 ? (items[i + 1]?.start ?? items[i]!.end) : items[i]!.end;
    edits.push({ start, end, text: "" });
  }
  return edits;
}

/** Whether encoding the bytes again gives exactly the text that the entry has. */
export function isPlainlySpelt(config: IgnitionConfig, path: string): boolean {
  const content = carriedContent(config, path);
  if (content === undefined) return false;
  return replaceContent(content, content.bytes).every(({ start, end, text }) => config.text.slice(start, end) === text);
}

/** A manifest that may be anybody's; undefined when the file is missing or not YAML. */
export const manifestAt = (config: IgnitionConfig, path: string): unknown => yamlOf(textOf(config, path));

/** The first container, of a pod or of a template. */
export function containerOf(manifest: unknown): unknown {
  return at(manifest, "spec", "containers", "0") ?? at(manifest, "spec", "template", "spec", "containers", "0");
}
