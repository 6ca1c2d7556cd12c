/** Looking into manifests that may be anybody's. */
import { at, isRecord } from "../../../base/at.js";
import { yamlValue } from "../install-dir.js";
import { type IgnitionConfig, textOf } from "./ignition-config.js";

/** Undefined when the file is missing or no YAML object. */
export type Manifest = Readonly<Record<string, unknown>> | undefined;

export function manifestAt(config: IgnitionConfig, path: string): Manifest {
  return yamlObject(textOf(config, path));
}

export function yamlObject(text: unknown): Manifest {
  const value = yamlValue(text);
  return isRecord(value) ? value : undefined;
}

/** The first container, of a pod or of a template. */
export function containerOf(manifest: Manifest): unknown {
  return at(manifest, "spec", "containers", "0") ?? at(manifest, "spec", "template", "spec", "containers", "0");
}
