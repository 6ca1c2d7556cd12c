/** Takes a bridge out of a bootstrap.ign again, to the byte where nobody else changed it. */

import { applyEdits, type TextEdit } from "../../../base/located-json.js";
import { BOOTKUBE, unpatchBootkube } from "./bootkube.js";
import {
  contentOf,
  type IgnitionConfig,
  type IgnitionFile,
  replaceContent,
  sha256,
  textOf,
} from "./ignition-config.js";
import { payloadPaths } from "./payload.js";
import { asidePath, broughtBack, dropEntries, replaceEntry } from "./splice.js";

export interface Removal {
  readonly text: string;
  /** True when the result is proved to be the file that was injected into. */
  readonly exact: boolean;
  readonly warnings: readonly string[];
}

/** Only for configs that are ours. Throws DB_IGNITION_ANCHORS when marks were damaged. */
export function removeBridge(config: IgnitionConfig): Removal {
  const { script, origin } = unpatchBootkube(textOf(config, BOOTKUBE)!);
  const doomed = new Set<IgnitionFile["node"]>();
  const edits: TextEdit[] = scriptEdits(config, script, doomed);
  for (const path of payloadPaths) {
    const file = config.files.get(path);
    if (file === undefined) continue;
    const aside = config.files.get(asidePath(path));
    if (aside === undefined) doomed.add(file.node);
    else {
      edits.push(replaceEntry(file, broughtBack(config, aside)));
      doomed.add(aside.node);
    }
  }
  const text = applyEdits(config.text, [...edits, ...dropEntries(config, doomed)]);
  const [, scriptHash, fileHash] = /^bootkube\.sh=sha256-(\w+) bootstrap\.ign=sha256-(\w+)$/.exec(origin ?? "") ?? [];
  const exact = sha256(text) === fileHash;
  return { text, exact, warnings: exact ? [] : [doubt(sha256(script) === scriptHash)] };
}

function scriptEdits(config: IgnitionConfig, script: string, doomed: Set<IgnitionFile["node"]>): TextEdit[] {
  const bytes = Buffer.from(script);
  const aside = config.files.get(asidePath(BOOTKUBE));
  if (aside === undefined) return replaceContent(contentOf(config, BOOTKUBE)!, bytes);
  doomed.add(aside.node);
  // Somebody's later changes to the script are worth more than its old spelling.
  if (!contentOf(config, aside.path)?.bytes.equals(bytes)) return replaceContent(contentOf(config, BOOTKUBE)!, bytes);
  return [replaceEntry(config.files.get(BOOTKUBE)!, broughtBack(config, aside))];
}

function doubt(scriptIsOriginal: boolean): string {
  return scriptIsOriginal
    ? "bootkube.sh is the original again, but another tool has changed the file since the bridge went in, so it is not the same byte for byte"
    : "bootkube.sh was changed by somebody else since the bridge went in; those changes were kept";
}
