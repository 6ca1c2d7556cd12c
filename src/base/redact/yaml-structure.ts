/** YAML by its structure. Only what has to go is changed; all else stays as it was written. */
import { type Document, isAlias, isMap, isScalar, isSeq, type Node, parseAllDocuments, Scalar } from "yaml";
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
    return withCuts(source, cutsOf(source, documents, inner));
  } catch {
    // Too deep for the parser: then it is judged by its lines.
    return undefined;
  }
}

function cutsOf(source: string, documents: readonly Document[], inner: (text: string) => string): Cut[] {
  const cuts: Cut[] = [];
  const replace = (node: Node, instead: string): void => {
    const [from, to] = node.range ?? [0, 0, 0];
    const end = /\r?\n$/.exec(source.slice(from, to))?.[0] ?? "";
    cuts.push({ from, to, instead: instead.endsWith("\n") ? instead : instead + end });
  };
  const walk = (node: Node | null | undefined, name: string, context: Context, depth: number): void => {
    if (!node || isAlias(node)) return;
    if (depth > DEEPEST) replace(node, JSON.stringify(REMOVED));
    else if (isScalar(node)) {
      const clean = cleanScalar(node.value, name, context, inner);
      if (clean === node.value) return;
      const isBlock = node.type === Scalar.BLOCK_LITERAL && clean !== REMOVED;
      replace(node, isBlock ? blockWith(source, node, String(clean)) : JSON.stringify(clean));
    } else if (isSeq<Node>(node)) {
      for (const [index, item] of node.items.entries()) {
        walk(item, name, announcesSecret(plain(node.items[index - 1])) ? { named: true } : context, depth + 1);
      }
    } else if (isMap<Node, Node>(node)) {
      const members = new Map(node.items.map(({ key, value }) => [plain(key), plain(value)]));
      for (const { key, value } of node.items) {
        const own = isScalar(key) ? String(key.value) : "";
        walk(key, "", {}, depth + 1);
        const below = memberContext(own, (other) => members.get(other), context);
        walk(value, isSecretName(own) ? own : name, below, depth + 1);
      }
    }
  };
  for (const { contents } of documents) walk(contents, "", {}, 0);
  return cuts;
}

/** The block with another text; lines stay lines. */
function blockWith(source: string, node: Scalar, text: string): string {
  const [from, to] = node.range ?? [0, 0, 0];
  const [header = "", ...lines] = source.slice(from, to).split("\n");
  const indent = /^[ \t]*/.exec(lines.find((line) => line.trim() !== "") ?? "")?.[0] ?? "";
  const body = text.split("\n").map((line) => (line === "" ? "" : indent + line));
  return [header, ...body].join("\n");
}

const plain = (node: Node | null | undefined): unknown => (isScalar(node) ? node.value : undefined);
