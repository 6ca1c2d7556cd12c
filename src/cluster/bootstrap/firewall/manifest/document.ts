/**
 * A manifest of the installer, changed by whole lines: YAML is parsed to know where, and every byte that is not ours
 * stays what it was.
 */
import { isDeepStrictEqual } from "node:util";
import {
  type Document,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  parseAllDocuments,
  stringify,
  type YAMLSeq,
} from "yaml";
import { isRecord } from "../../../../base/at.js";

/** Why a manifest cannot be changed; the file's name is added where it is known. */
export class UnknownShape extends Error {}

const ODD_LAYOUT = "its layout is not one the installer writes";

export type ManifestPath = readonly (string | number)[];

export type ManifestItem = Readonly<Record<string, unknown>>;

export class InstallerManifest {
  #text: string;
  #document: Document.Parsed;

  /** Throws UnknownShape. */
  constructor(text: string) {
    this.#text = text;
    this.#document = parseOne(text);
  }

  get text(): string {
    return this.#text;
  }

  get name(): string {
    return String(this.value("metadata", "name") ?? "");
  }

  value(...path: ManifestPath): unknown {
    const node = this.#document.getIn(path, true);
    return isMap(node) || isSeq(node) || isScalar(node) ? node.toJS(this.#document) : undefined;
  }

  list(...path: ManifestPath): readonly ManifestItem[] {
    const value = this.value(...path);
    return Array.isArray(value) ? value : [];
  }

  /** Adds to the end of a list, which is made if its parent is there. Throws UnknownShape. */
  append(path: ManifestPath, item: object, comment: string): void {
    const expected = [...this.list(...path), JSON.parse(JSON.stringify(item))];
    const above = path.slice(0, -1);
    const [list, parent] = [path, above].map((each) => this.#document.getIn(each, true));
    const rows = [`# ${comment}`, ...stringify([item], { indentSeq: false, lineWidth: 0 }).trimEnd().split("\n")];
    if (isSeq(list) && list.items.length > 0) this.#insertBelow(list, rows);
    else if (list !== undefined) throw new UnknownShape(`${path.join(".")} is not a list that can be added to`);
    else if (isMap(parent) && parent.items.length > 0) this.#insertBelow(parent, [`${path.at(-1)}:`, ...rows]);
    else throw new UnknownShape(`it has no ${above.join(".")}`);
    if (!isDeepStrictEqual(this.value(...path), expected)) throw new UnknownShape(ODD_LAYOUT);
  }

  /**
   * Takes the items away that are picked, with the comment above; a list that would be empty goes with its key. Returns
   * how many these were. Throws UnknownShape.
   */
  drop(path: ManifestPath, picks: (item: ManifestItem, comment: string | undefined) => boolean): number {
    const list = this.#document.getIn(path, true);
    if (!isSeq(list) || list.flow) return 0;
    const lines = this.#text.split("\n");
    const items = (list.items as Node[]).map((node) => {
      const [first, last] = [this.#row(startOf(node)), this.#row(contentEnd(node) - 1)];
      const comment = /^\s*# (.*?)\s*$/.exec(lines[first - 1] ?? "")?.[1];
      return { first: comment === undefined ? first : first - 1, last, comment, value: node.toJS(this.#document) };
    });
    const picked = items.filter(({ value, comment }) => picks(isRecord(value) ? value : {}, comment));
    for (const [index, { first, last }] of [...picked.entries()].reverse()) {
      const isWhole = picked.length === items.length && index === 0;
      if (isWhole && lines[first - 1]?.trim() !== `${path.at(-1)}:`) throw new UnknownShape(ODD_LAYOUT);
      const from = isWhole ? first - 1 : first;
      lines.splice(from, last + 1 - from);
    }
    this.#change(lines);
    return picked.length;
  }

  /** Adds an entry to a map, which is made if its parent is there. Throws UnknownShape. */
  set(path: ManifestPath, key: string, value: string): void {
    const [map, parent] = [path, path.slice(0, -1)].map((each) => this.#document.getIn(each, true));
    const row = stringify({ [key]: value }, { lineWidth: 0 }).trimEnd();
    if (isMap(map) && map.items.length > 0) this.#insertBelow(map, [row]);
    else if (map === undefined && isMap(parent) && parent.items.length > 0)
      this.#insertBelow(parent, [`${path.at(-1)}:`, `  ${row}`]);
    else throw new UnknownShape(`${path.join(".")} is not a map that can be added to`);
    if (this.value(...path, key) !== value) throw new UnknownShape(ODD_LAYOUT);
  }

  /** Takes an entry of a map away; a map that would be empty goes with its key. Throws UnknownShape. */
  unset(path: ManifestPath, key: string): void {
    const map = this.#document.getIn(path, true);
    const pair = isMap(map) ? map.items.find((each) => isScalar(each.key) && each.key.value === key) : undefined;
    if (!isMap(map) || pair === undefined) return;
    const lines = this.#text.split("\n");
    const row = this.#row(startOf(pair.key as Node));
    const isWhole = map.items.length === 1;
    if (map.flow || (isWhole && lines[row - 1]?.trim() !== `${path.at(-1)}:`)) throw new UnknownShape(ODD_LAYOUT);
    lines.splice(isWhole ? row - 1 : row, isWhole ? 2 : 1);
    this.#change(lines);
    if (this.value(...path, key) !== undefined) throw new UnknownShape(ODD_LAYOUT);
  }

  /** Below the last line of a list or map, with its indentation. */
  #insertBelow(node: Node, rows: readonly string[]): void {
    if ((node as YAMLSeq).flow) throw new UnknownShape("it is written in braces, which the installer does not do");
    const lines = this.#text.split("\n");
    const first = startOf(node);
    const indentation = " ".repeat(first - (this.#text.lastIndexOf("\n", first - 1) + 1));
    const lineEnd = this.#text.includes("\r\n") ? "\r" : "";
    lines.splice(this.#row(contentEnd(node) - 1) + 1, 0, ...rows.map((row) => `${indentation}${row}${lineEnd}`));
    this.#change(lines);
  }

  #change(lines: readonly string[]): void {
    this.#text = lines.join("\n");
    this.#document = parseOne(this.#text);
  }

  /** The index of the line that an offset is in. */
  #row(offset: number): number {
    return this.#text.slice(0, offset).split("\n").length - 1;
  }
}

function parseOne(text: string): Document.Parsed {
  const documents = parseAllDocuments(text);
  const [document, ...others] = Array.isArray(documents) ? documents : [];
  if (document === undefined || !isMap(document.contents)) throw new UnknownShape("it holds no object");
  if (others.length > 0) throw new UnknownShape("it holds several objects");
  const [error] = document.errors;
  if (error !== undefined) throw new UnknownShape(`it is not YAML (${error.message.split("\n")[0]})`);
  return document;
}

const startOf = (node: Node): number => node.range?.[0] ?? 0;

/** Of the last scalar inside, before comments and empty lines that may belong to what follows. */
function contentEnd(node: Node): number {
  const last = isMap(node) || isSeq(node) ? node.items.at(-1) : undefined;
  if (last === undefined) return node.range?.[1] ?? 0;
  if (!isPair(last)) return contentEnd(last as Node);
  return Math.max(contentEnd(last.key as Node), last.value === null ? 0 : contentEnd(last.value as Node));
}
