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

/** Why a manifest cannot be changed; the file's name is added where it is known. */
export class UnknownShape extends Error {}

export type ManifestPath = readonly (string | number)[];

export interface Item {
  readonly value: Readonly<Record<string, unknown>>;
  /** The line above it, if that is a comment. */
  readonly comment: string | undefined;
}

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

  get apiVersion(): string {
    return String(this.value("apiVersion") ?? "");
  }

  get kind(): string {
    return String(this.value("kind") ?? "");
  }

  get name(): string {
    return String(this.value("metadata", "name") ?? "");
  }

  value(...path: ManifestPath): unknown {
    const node = this.#document.getIn(path, true);
    return isMap(node) || isSeq(node) || isScalar(node) ? node.toJS(this.#document) : undefined;
  }

  list(...path: ManifestPath): readonly Readonly<Record<string, unknown>>[] {
    const value = this.value(...path);
    return Array.isArray(value) ? value : [];
  }

  /** Adds to the end of a list, which is made if its parent is there. Throws UnknownShape. */
  append(path: ManifestPath, item: object, comment: string): void {
    const expected = [...this.list(...path), JSON.parse(JSON.stringify(item))];
    const list = this.#document.getIn(path, true);
    const rows = [`# ${comment}`, ...stringify([item], { indentSeq: false, lineWidth: 0 }).trimEnd().split("\n")];
    if (isSeq(list) && list.items.length > 0) this.#insertAfter(list, rows);
    else if (list === undefined) this.#insertAfter(this.#parentOf(path), [`${path.at(-1)}:`, ...rows]);
    else throw new UnknownShape(`${path.join(".")} is not a list that can be added to`);
    if (!isDeepStrictEqual(this.value(...path), expected))
      throw new UnknownShape("its layout is not one the installer writes");
  }

  /** Takes the items away that are picked, with the comment above; a list that would be empty goes with its key. */
  drop(path: ManifestPath, picks: (item: Item) => boolean): number {
    const list = this.#document.getIn(path, true);
    if (!isSeq(list) || list.flow) return 0;
    const nodes = list.items as Node[];
    const picked = nodes.filter((node) => picks(this.#item(node)));
    const isAll = picked.length > 0 && picked.length === nodes.length;
    const cuts = isAll
      ? [[this.#keyLine(path), list] as const]
      : picked.map((node) => [this.#ownLine(node), node] as const);
    for (const [from, node] of cuts.reverse()) {
      this.#text = this.#text.slice(0, from) + this.#text.slice(this.#nextLine(contentEnd(node)));
    }
    this.#document = parseOne(this.#text);
    return picked.length;
  }

  /** Where an item begins, the comment above included. */
  #ownLine(node: Node): number {
    const line = this.#lineOf(start(node));
    return this.#commentAbove(line) === undefined ? line : this.#lineOf(line - 1);
  }

  #keyLine(path: ManifestPath): number {
    const parent = this.#document.getIn(path.slice(0, -1), true);
    const pair = isMap(parent) ? parent.items.find(({ key }) => isScalar(key) && key.value === path.at(-1)) : undefined;
    const at = start(pair?.key as Node);
    const line = this.#lineOf(at);
    if (this.#text.slice(line, at).trim() !== "") throw new UnknownShape("its layout is not one the installer writes");
    return line;
  }

  #item(node: Node): Item {
    const value = isMap(node) ? node.toJS(this.#document) : {};
    return { value, comment: this.#commentAbove(this.#lineOf(start(node))) };
  }

  #parentOf(path: ManifestPath): Node {
    const parent = this.#document.getIn(path.slice(0, -1), true);
    if (isMap(parent) && parent.items.length > 0) return parent;
    throw new UnknownShape(`it has no ${path.slice(0, -1).join(".")}`);
  }

  /** Below the last line of a list or map, with its indentation. */
  #insertAfter(node: Node, rows: readonly string[]): void {
    if ((node as YAMLSeq).flow) throw new UnknownShape("it is written in braces, which the installer does not do");
    const first = start(node);
    const indentation = " ".repeat(first - this.#lineOf(first));
    const lineEnd = this.#text.includes("\r\n") ? "\r\n" : "\n";
    const at = this.#nextLine(contentEnd(node));
    const isOpenLine = at > 0 && this.#text[at - 1] !== "\n";
    const block = rows.map((row) => `${indentation}${row}${lineEnd}`).join("");
    this.#text = `${this.#text.slice(0, at)}${isOpenLine ? lineEnd : ""}${block}${this.#text.slice(at)}`;
    this.#document = parseOne(this.#text);
  }

  /** Where the line of an offset starts. */
  #lineOf(offset: number): number {
    return offset <= 0 ? 0 : this.#text.lastIndexOf("\n", offset - 1) + 1;
  }

  /** Where the next line starts; the end of the text after the last one. */
  #nextLine(offset: number): number {
    if (offset > 0 && this.#text[offset - 1] === "\n") return offset;
    const next = this.#text.indexOf("\n", offset);
    return next < 0 ? this.#text.length : next + 1;
  }

  #commentAbove(line: number): string | undefined {
    if (line === 0) return undefined;
    const above = this.#text.slice(this.#lineOf(line - 1), line).trim();
    return above.startsWith("# ") ? above.slice(2) : undefined;
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

const start = (node: Node): number => node.range?.[0] ?? 0;

/** Of the last scalar inside, before comments and empty lines that may belong to what follows. */
function contentEnd(node: Node): number {
  const last = isMap(node) ? node.items.at(-1) : isSeq(node) ? node.items.at(-1) : undefined;
  if (last === undefined) return node.range?.[1] ?? 0;
  if (!isPair(last)) return contentEnd(last as Node);
  return Math.max(contentEnd(last.key as Node), last.value === null ? 0 : contentEnd(last.value as Node));
}
