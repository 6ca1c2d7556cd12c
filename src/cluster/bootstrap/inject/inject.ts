/** Puts a bridge into a bootstrap.ign. */

import { spawnSync } from "node:child_process";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { applyEdits, type TextEdit } from "../../../base/located-json.js";
import { openshiftHost } from "../model/names.js";
import { BOOTKUBE, needed, patchBootkube, unpatchBootkube } from "./bootkube.js";
import { classify, type InjectionState } from "./classify.js";
import { type ClusterFacts, clusterFacts, type ReleaseGuess, releaseOf } from "./cluster-facts.js";
import {
  appendEntries,
  asideEntry,
  asidePath,
  broughtBack,
  carriedContent,
  dropEntries,
  fileText,
  type IgnitionConfig,
  type IgnitionFile,
  isPlainlySpelt,
  parseIgnition,
  replaceContent,
  replaceEntry,
  sha256,
  textOf,
} from "./ignition-config.js";
import {
  type InjectOptions,
  namesImages,
  type PayloadFile,
  payloadFiles,
  payloadPaths,
  storedOptions,
} from "./payload.js";

export interface Injection {
  /** What the file was before. */
  readonly state: InjectionState;
  readonly release: ReleaseGuess | undefined;
  /** What it is now; the same text when there was nothing to do. */
  readonly text: string;
  readonly changed: boolean;
  readonly warnings: readonly string[];
}

/** Throws a DrawbridgeError when the file is not one that can carry a bridge. */
export function inject(text: string, wanted: InjectOptions): Injection {
  const config = parseIgnition(text);
  const { state, refusal } = classify(config);
  if (refusal !== undefined) throw refusal;
  if (state === "bootstrap-in-place" || state === "upstream-on")
    return { state, release: releaseOf(config), text, changed: false, warnings: [] };
  if (state !== "ours") return { ...insert(config, state, wanted), state };
  const stored = storedOptions(textOf(config, openshiftHost.functions) ?? "");
  const { text: before, warnings } = removeBridge(config);
  const base = parseIgnition(before);
  const beneath = classify(base);
  if (beneath.refusal !== undefined) throw beneath.refusal;
  const again = insert(base, beneath.state, { ...stored, ...wanted });
  return { ...again, state, changed: again.text !== text, warnings: [...warnings, ...again.warnings] };
}

function insert(config: IgnitionConfig, state: InjectionState, options: InjectOptions): Omit<Injection, "state"> {
  if (state !== "absent" && state !== "upstream-off") throw new Error(`nothing can be injected into ${state}`);
  const release = releaseOf(config);
  if (!release.hasImage && !namesImages(options))
    throw new DrawbridgeError(
      "DB_INJECT_IMAGE",
      `the payload of this release (${release.name}, by ${release.from}) cannot be expected to have the tunnel's programs`,
    );
  const facts = clusterFacts(config);
  const files = payloadFiles(options, facts);
  const text = applyEdits(config.text, [...scriptEdits(config, needed[state]), ...fileEdits(config, files)]);
  return { release, text, changed: true, warnings: warningsFor(release, facts, options) };
}

function scriptEdits(config: IgnitionConfig, wanted: Parameters<typeof patchBootkube>[1]): TextEdit[] {
  const content = carriedContent(config, BOOTKUBE)!;
  const origin = originOf(sha256(content.bytes), sha256(config.text));
  const script = textOf(config, BOOTKUBE)!;
  const patched = patchBootkube(script, wanted, origin);
  const objection = bashError(patched);
  // A script that bash refused before is not ours to judge.
  if (objection && bashError(script) === undefined)
    throw new DrawbridgeError("DB_IGNITION_ANCHORS", `with the bridge in it, bash refuses bootkube.sh: ${objection}`);
  return replaceContent(content, Buffer.from(patched));
}

const originOf = (script: string, file: string) => `bootkube.sh=sha256-${script} bootstrap.ign=sha256-${file}`;

/** Ours take the places of entries under the same path, which are kept; the others go to the end of the list. */
function fileEdits(config: IgnitionConfig, files: readonly PayloadFile[]): TextEdit[] {
  const asides: string[] = [];
  const added: string[] = [];
  const edits: TextEdit[] = [];
  for (const file of files) {
    const there = config.files.get(file.path);
    if (there === undefined) added.push(fileText(file));
    else {
      edits.push(replaceEntry(there, fileText(file)));
      asides.push(asideEntry(config, there));
    }
  }
  // Compressed or oddly escaped, it could not be encoded identically again, so it is kept.
  if (!isPlainlySpelt(config, BOOTKUBE)) asides.push(asideEntry(config, config.files.get(BOOTKUBE)!));
  return [...edits, ...appendEntries(config, [...added, ...asides])];
}

function warningsFor(release: ReleaseGuess, facts: ClusterFacts, options: InjectOptions): string[] {
  const [major = 0, minor = 0] = release.name.split(".").map(Number);
  const warnings: string[] = [];
  if (facts.family === 6 && major === 4 && minor < 14 && !namesImages(options))
    warnings.push(
      "agents of payloads before 4.14 do not dial IPv6 addresses reliably; give a newer image with --image",
    );
  if (options.agentNetwork === "host" && !release.hasImage)
    warnings.push(
      "releases before 4.11 do not know the SCC hostnetwork-v2, so host-network agents will not be admitted",
    );
  if (facts.fips && options.imageKind === "drawbridge")
    warnings.push("the cluster is to run in FIPS mode, and drawbridge's own image has no validated cryptography");
  return warnings;
}

/**
 * Takes a bridge out of a bootstrap.ign again, to the byte where nobody else changed it; `exact` when the result is
 * proved to be the file that was injected into. Only for configs that are ours. Throws DB_IGNITION_ANCHORS when marks
 * were damaged.
 */
export function removeBridge(config: IgnitionConfig) {
  const { script, origin } = unpatchBootkube(textOf(config, BOOTKUBE)!);
  const doomed = new Set<IgnitionFile["node"]>();
  const edits: TextEdit[] = restoredScript(config, script, doomed);
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

function restoredScript(config: IgnitionConfig, script: string, doomed: Set<IgnitionFile["node"]>): TextEdit[] {
  const bytes = Buffer.from(script);
  const aside = config.files.get(asidePath(BOOTKUBE));
  if (aside === undefined) return replaceContent(carriedContent(config, BOOTKUBE)!, bytes);
  doomed.add(aside.node);
  // Somebody's later changes to the script are worth more than its old spelling.
  if (!carriedContent(config, aside.path)?.bytes.equals(bytes))
    return replaceContent(carriedContent(config, BOOTKUBE)!, bytes);
  return [replaceEntry(config.files.get(BOOTKUBE)!, broughtBack(config, aside))];
}

function doubt(scriptIsOriginal: boolean): string {
  return scriptIsOriginal
    ? "bootkube.sh is the original again, but another tool has changed the file since the bridge went in, so it is not the same byte for byte"
    : "bootkube.sh was changed by somebody else since the bridge went in; those changes were kept";
}

/** Every script and manifest of the bridge that a bootstrap.ign carries, and its lines in bootkube.sh. */
export function injectedFiles(config: IgnitionConfig) {
  const files = payloadPaths.flatMap((path) => {
    const text = textOf(config, path);
    const mode = config.files.get(path)?.mode ?? 0o644;
    return text === undefined ? [] : [{ path, mode: mode.toString(8).padStart(4, "0"), text }];
  });
  return { files, bootkube: unpatchBootkube(textOf(config, BOOTKUBE) ?? "").inserted };
}

/** What bash has against a script, undefined when nothing; "" when there is no bash here to ask. */
export function bashError(script: string): string | undefined {
  const { status, stderr, error } = spawnSync("bash", ["--norc", "-n", "-s"], {
    input: script,
    encoding: "utf8",
    timeout: 10_000,
  });
  if (error !== undefined) return "";
  return status === 0 ? undefined : (stderr.trim().split("\n")[0] ?? "bash refused it");
}
