/** Reading YAML and what it holds. Messages name lines, never content: a line may hold a secret. */
import { type Document, parseAllDocuments, parseDocument, stringify } from "yaml";
import { isRecord } from "../../base/at.js";
import { wrapErrors } from "../../base/errors/error.js";

/** A separator is alone on its line; Kubernetes takes nothing else for one. */
const SEPARATOR = /^---[ \t]*\r?$\n?/m;
/** Aliases may make a document this many times as large. */
const MOST_ALIASES = 100;

/** The documents of a stream as they are written; blank ones are left out. */
export function splitDocuments(text: string): string[] {
  return text.split(SEPARATOR).filter((document) => document.trim() !== "");
}

/** The value of one document. Throws an Error that says which line is wrong. */
export function readYaml(text: string, maxAliasCount = MOST_ALIASES): unknown {
  return documentValue(parseDocument(text), maxAliasCount);
}

/** The values of all documents in a stream; blank ones are null. */
export function readYamlStream(text: string): unknown[] {
  return [...parseAllDocuments(text)].map((document) => documentValue(document, MOST_ALIASES));
}

/** Reads YAML as Kubernetes does: version 1.1, because in a file's mode 0644 is octal; times of day and dates stay text. */
export function parseKubernetesYaml(text: string, where: string): unknown {
  const document = parseDocument(text, {
    version: "1.1",
    customTags: (tags) => tags.filter((tag) => typeof tag === "string" || !isUnknownToGo(tag)),
  });
  return wrapErrors("DB_NODEPOOL_CONFIG", where, () => documentValue(document, MOST_ALIASES));
}

function documentValue(document: Document.Parsed, maxAliasCount: number): unknown {
  const [error] = document.errors;
  if (error !== undefined) throw new Error(`line ${error.linePos?.[0].line ?? 1} is not YAML`);
  return document.toJS({ maxAliasCount });
}

function isUnknownToGo(tag: { readonly tag: string; readonly format?: string }): boolean {
  return tag.tag === "tag:yaml.org,2002:timestamp" || tag.format === "TIME";
}

/** Writes YAML as Kubernetes does, so that a document has one text: sorted keys, no folding, lists not indented. */
export function canonicalYaml(value: unknown): string {
  return stringify(value, {
    version: "1.1",
    sortMapEntries: true,
    lineWidth: 0,
    indentSeq: false,
    aliasDuplicateObjects: false,
  });
}

export type YamlFields = Readonly<Record<string, unknown>>;

/** The members of a mapping. A key that is not known is refused: misspelt, it must not mean that there is no limit. */
export function fieldsOf(value: unknown, what: string, known?: readonly string[]): YamlFields {
  if (!isRecord(value)) throw new Error(`${what} is not an object`);
  const unknown = known === undefined ? undefined : Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new Error(`${what} has an unknown key ${unknown}; known are ${known?.join(", ")}`);
  return value;
}

/** The items of a list; none for undefined and null. */
export function itemsOf(value: unknown, what: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error(`${what} must be a list`);
  return value;
}

export function textsOf(value: unknown, what: string): readonly string[] {
  const items = itemsOf(value, what);
  if (!items.every((item) => typeof item === "string")) throw new Error(`${what} must be a list of texts`);
  return items as readonly string[];
}
