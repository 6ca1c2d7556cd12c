/** A rendering as files or as one text. Keys leave only when somebody asks for them. */
import { Document, stringify } from "yaml";
import { hidden, type Manifest } from "../../kube/apply.js";
import type { RenderedObject, Side } from "./manifest.js";
import type { RenderedPatch, Rendering } from "./render.js";

export interface RenderedFile {
  readonly name: string;
  readonly text: string;
  readonly mode: number;
}

export function withoutSecrets(manifest: Manifest): Manifest {
  if (manifest.kind !== "Secret") return manifest;
  const data = Object.entries((manifest.data ?? {}) as Readonly<Record<string, string>>);
  return { ...manifest, data: Object.fromEntries(data.map(([key, value]) => [key, hidden(value)])) };
}

export function filesOf({ objects, patches }: Rendering): RenderedFile[] {
  return [
    ...objects.map(({ side, manifest }) => ({
      name: `${side}/${manifest.kind.toLowerCase()}-${manifest.metadata.name}.yaml`,
      text: yamlText(manifest),
      mode: manifest.kind === "Secret" ? 0o600 : 0o644,
    })),
    ...patches.map(({ file, comment, document }) => ({ name: file, text: yamlText(document, comment), mode: 0o644 })),
  ];
}

/** One stream of documents, for `kubectl apply -f -` where it is one cluster's. */
export function streamOf(objects: readonly RenderedObject[], patches: readonly RenderedPatch[]): string {
  return [
    ...objects.map(({ side, manifest }) => yamlText(manifest, placeOf(side))),
    ...patches.map(({ document, comment }) => yamlText(document, comment)),
  ].join("---\n");
}

const placeOf = (side: Side): string => (side === "hosted" ? "hosted cluster" : "management cluster");

function yamlText(value: object, comment = ""): string {
  const head = comment === "" ? "" : `${comment.replace(/^/gm, "# ")}\n`;
  return head + stringify(new Document(value, { aliasDuplicateObjects: false }), { lineWidth: 0 });
}
