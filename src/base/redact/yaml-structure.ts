/** YAML by its structure. Only what has to go is changed; all else stays as it was written. */
import { isAlias, isMap, isScalar, isSeq, type Node, parseAllDocuments, Scalar, type YAMLMap } from "yaml";
import { type Cut, withCuts } from "./cuts.js";
import { isSecretName, REMOVED } from "./names.js";
import { announcesSecret, type Context, cleanScalar, memberContext } from "./structure.js";

/** Longer texts are judged by their lines. */
const LONGEST = 512 * 1024;
const FIRST_LINE = /^(?:[ \t]*(?:#.*|---.*|%.*)?\r?\n)*[ \t]*(?:- +)*(?:["'\w][\w./"' -]{0,200}:(?:\s|$)|- )/;
const DEEPEST = 200;

export function withoutYamlSecrets(source: string, inner: (text: string) => string): string | undefined {
  if (source.length > LONGEST || !FIRST_LINE.test(source)) return undefined;
  try {
    const documents = parseAllDocuments(source, { uniqueKeys: false, logLevel: "silent" });
    if (!Array.isArray(documents) || documents.some(({ errors }) => errors.length > 0)) return undefined;
    const walker = new Walker(source, inner);
    for (const { contents } of documents) walker.walk(contents, "", {}, 0);
    return withCuts(source, walker.cuts);
  } catch {
    // Too deep for the parser: then it is judged by its lines.
    return undefined;
  }
}

class Walker {
  readonly cuts: Cut[] = [];
  readonly #source: string;
  readonly #inner: (text: string) => string;

  constructor(source: string, inner: (text: string) => string) {
    this.#source = source;
    this.#inner = inner;
  }

  walk(node: Node | null | undefined, name: string, context: Context, depth: number): void {
    if (!node || isAlias(node)) return;
    if (depth > DEEPEST) this.#replace(node, JSON.stringify(REMOVED));
    else if (isScalar(node)) this.#scalar(node, name, context);
    else if (isSeq<Node>(node)) {
      for (const [index, item] of node.items.entries()) {
        const before: unknown = node.items[index - 1];
        const isNamed = isScalar(before) && announcesSecret(before.value);
        this.walk(item, name, isNamed ? { named: true } : context, depth + 1);
      }
    } else if (isMap<Node, Node>(node)) this.#map(node, name, context, depth);
  }

  #map(node: YAMLMap<Node, Node>, name: string, context: Context, depth: number): void {
    const members = new Map(node.items.map(({ key, value }) => [plain(key), plain(value)]));
    const beside = (other: string): unknown => members.get(other);
    for (const { key, value } of node.items) {
      const own = isScalar(key) ? String(key.value) : "";
      this.walk(key, "", {}, depth + 1);
      this.walk(value, isSecretName(own) ? own : name, memberContext(own, beside, context), depth + 1);
    }
  }

  #scalar(node: Scalar, name: string, context: Context): void {
    const clean = cleanScalar(node.value, name, context, this.#inner);
    if (clean === node.value) return;
    const isBlock = node.type === Scalar.BLOCK_LITERAL && clean !== REMOVED;
    this.#replace(node, isBlock ? this.#block(node, String(clean)) : JSON.stringify(clean));
  }

  #replace(node: Node, instead: string): void {
    const [from, to] = node.range ?? [0, 0, 0];
    const end = /\r?\n$/.exec(this.#source.slice(from, to))?.[0] ?? "";
    this.cuts.push({ from, to, instead: instead.endsWith("\n") ? instead : instead + end });
  }

  /** Lines stay lines. */
  #block(node: Scalar, text: string): string {
    const [from, to] = node.range ?? [0, 0, 0];
    const [header = "", ...lines] = this.#source.slice(from, to).split("\n");
    const indent = /^[ \t]*/.exec(lines.find((line) => line.trim() !== "") ?? "")?.[0] ?? "";
    const body = text.split("\n").map((line) => (line === "" ? "" : indent + line));
    return [header, ...body].join("\n");
  }
}

const plain = (node: Node | null): unknown => (isScalar(node) ? node.value : undefined);
