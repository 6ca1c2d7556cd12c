/** Manifests as text. */
import { Document, type Scalar, stringify, visit } from "yaml";

/** Documents one after the other, each behind its `---` when there are several; `comment` goes on top. */
export function toYaml(documents: readonly unknown[], comment = ""): string {
  const head = comment === "" ? "" : `${comment.trim().replace(/^/gm, "# ")}\n`;
  return head + documents.map(documentText).join("---\n");
}

function documentText(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, { Scalar: (_, node) => quoteOpenValues(node) });
  return stringify(document, { lineWidth: 0 });
}

/** What replaces a placeholder may end in a colon (an IPv6 network's first address), which plain YAML reads as a key. */
function quoteOpenValues(node: Scalar): void {
  if (typeof node.value === "string" && node.value.includes("${")) node.type = "QUOTE_DOUBLE";
}
