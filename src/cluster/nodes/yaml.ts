/** YAML as Kubernetes' own library reads and writes it, so that a document has one canonical text. */
import { parseDocument, stringify } from "yaml";
import { DrawbridgeError } from "../../base/errors/error.js";

/** A separator stands alone on its line; Kubernetes takes nothing else for one. */
const SEPARATOR = /^---[ \t]*\r?$\n?/m;

/** The documents of a stream as they are written; blank ones are left out. */
export function splitDocuments(text: string): string[] {
  return text.split(SEPARATOR).filter((document) => document.trim() !== "");
}

/** YAML 1.1, because in a file's mode 0644 is octal for Kubernetes; times of day and dates stay text. */
export function parseKubernetesYaml(text: string, where: string): unknown {
  const document = parseDocument(text, {
    version: "1.1",
    customTags: (tags) => tags.filter((tag) => typeof tag === "string" || !isUnknownToGo(tag)),
  });
  const [error] = document.errors;
  if (error !== undefined) {
    // The parser's own words may repeat a line of a document, and with it a secret.
    const line = error.linePos?.[0].line ?? 1;
    throw new DrawbridgeError("DB_NODEPOOL_CONFIG", `${where} is not YAML: look at its line ${line}`);
  }
  return document.toJS({ maxAliasCount: 100 });
}

function isUnknownToGo(tag: { readonly tag: string; readonly format?: string }): boolean {
  return tag.tag === "tag:yaml.org,2002:timestamp" || tag.format === "TIME";
}

/** Sorted keys, no folding, lists not indented. */
export function canonicalYaml(value: unknown): string {
  return stringify(value, {
    version: "1.1",
    sortMapEntries: true,
    lineWidth: 0,
    indentSeq: false,
    aliasDuplicateObjects: false,
  });
}
