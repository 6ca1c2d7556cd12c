/** Every script and manifest of the bridge that a bootstrap.ign carries, and its lines in bootkube.sh. */
import { BOOTKUBE, unpatchBootkube } from "./bootkube.js";
import { type IgnitionConfig, textOf } from "./ignition-config.js";
import { payloadPaths } from "./payload.js";

export interface ShownFile {
  readonly path: string;
  /** Four octal digits. */
  readonly mode: string;
  readonly text: string;
}

export interface Shown {
  readonly files: readonly ShownFile[];
  readonly bootkube: readonly { readonly line: number; readonly text: string }[];
}

export function show(config: IgnitionConfig): Shown {
  const files = payloadPaths.flatMap((path) => {
    const text = textOf(config, path);
    const mode = config.files.get(path)?.mode ?? 0o644;
    return text === undefined ? [] : [{ path, mode: mode.toString(8).padStart(4, "0"), text }];
  });
  return { files, bootkube: unpatchBootkube(textOf(config, BOOTKUBE) ?? "").inserted };
}
