import { placeholders } from "../model/names.js";
import { toYaml } from "./yaml.js";

/**
 * Whom a file is for: the cluster's API, the host that runs the server, or whoever starts the kube-apiserver (a change in
 * something that is not the bridge's).
 */
export type Part = "cluster" | "host" | "kube-apiserver";

export interface RenderedFile {
  readonly name: string;
  readonly part: Part;
  /** Where it belongs on the host; undefined when it is applied or merged instead. */
  readonly path: string | undefined;
  readonly mode: number;
  /** What the text says; empty when it is not YAML. */
  readonly documents: readonly object[];
  readonly text: string;
}

export interface Place {
  readonly part: Part;
  readonly path?: string;
  readonly mode?: number;
}

export function yamlFile(name: string, place: Place, documents: readonly object[], comment?: string): RenderedFile {
  return { ...file(name, place), documents, text: toYaml(documents, comment) };
}

export function textFile(name: string, place: Place, text: string): RenderedFile {
  return { ...file(name, place), documents: [], text };
}

function file(name: string, { part, path, mode = 0o644 }: Place) {
  return { name, part, path, mode };
}

/** What somebody still has to fill in. */
export function openPlaceholders(files: readonly RenderedFile[]): string[] {
  return Object.values(placeholders).filter((name) => files.some(({ text }) => text.includes(name)));
}
