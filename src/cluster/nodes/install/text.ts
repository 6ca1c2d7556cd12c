/** Objects as one YAML stream, for kubectl or a repository. */
import { stringify } from "yaml";
import type { Manifest } from "./manifest.js";

export function streamOf(manifests: readonly Manifest[]): string {
  return manifests.map((each) => stringify(each, { aliasDuplicateObjects: false, lineWidth: 0 })).join("---\n");
}
