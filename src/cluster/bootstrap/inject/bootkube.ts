/** Puts the bridge's calls into bootkube.sh, and takes them out again to the byte. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { openshiftHost } from "../model/paths.js";
import { type AnchorId, anchors, findAnchors, type Place, unknownScript } from "./anchors.js";

export const BOOTKUBE = "/usr/local/bin/bootkube.sh";

/** Of the text that is put in; an older one is taken out and put in anew. */
const VERSION = 1;
const BEGIN = /^[ \t]*# BEGIN drawbridge (\w+) v(\d+)(?: (.*))?$/;
const END = /^[ \t]*# END drawbridge (\w+) v(\d+)$/;

const inContainer = (path: string): string => path.replace(openshiftHost.assets, "/assets");

/** The kube-apiserver's render sees the assets under another name. */
export const OVERRIDE_FLAG = `--config-override-files=${inContainer(openshiftHost.configOverride)}`;
const FLAG_LINE = `${OVERRIDE_FLAG} \\`;

export const SOURCE_LINE = `. ${openshiftHost.functions}`;
export const hooks = {
  setup: "konnectivity_setup",
  manifests: "konnectivity_manifests",
  cleanup: "konnectivity_cleanup",
} as const;

const COPY_LINE = `cp ${openshiftHost.egressConfig} /etc/kubernetes/bootstrap-configs/egress-selector-config.yaml`;

const inserted: Readonly<Record<Exclude<AnchorId, "flag">, string>> = {
  source: SOURCE_LINE,
  setup: hooks.setup,
  copy: COPY_LINE,
  manifests: hooks.manifests,
  cleanup: hooks.cleanup,
};

/** A script without any hooks needs them all; one that calls upstream's needs what the kube-apiserver is told. */
export const needed = {
  absent: anchors.map(({ id }) => id),
  "upstream-off": ["flag", "copy"],
} as const satisfies Record<string, readonly AnchorId[]>;

/** `origin` goes into a comment, so that taking it out can be proved. Throws DB_IGNITION_ANCHORS. */
export function patchBootkube(script: string, wanted: readonly AnchorId[], origin: string): string {
  const search = findAnchors(script, wanted);
  if (search.places === undefined) throw unknownScript(search);
  const lines = script.split("\n");
  for (const place of [...search.places.values()].sort((a, b) => b.line - a.line))
    lines.splice(place.line, 0, ...linesAt(place, lines, origin));
  return lines.join("\n");
}

function linesAt({ id, line, indent }: Place, lines: readonly string[], origin: string): string[] {
  // No comment can stand inside a continued command: there the flag is its own mark.
  if (id === "flag") return [`${/^[ \t]*/.exec(lines[line] ?? "")![0]}${FLAG_LINE}`];
  const note = id === "copy" ? ` ${origin}` : "";
  return [
    `${indent}# BEGIN drawbridge ${id} v${VERSION}${note}`,
    `${indent}${inserted[id]}`,
    `${indent}# END drawbridge ${id} v${VERSION}`,
  ];
}

export const isPatched = (script: string): boolean => script.split("\n").some((line) => BEGIN.test(line));

export interface Unpatched {
  readonly script: string;
  /** What `patchBootkube` was given; undefined when somebody removed the comment. */
  readonly origin: string | undefined;
  /** What was taken out, by its line number. */
  readonly inserted: readonly { readonly line: number; readonly text: string }[];
}

/** Throws DB_IGNITION_ANCHORS when the marks were damaged. */
export function unpatchBootkube(script: string): Unpatched {
  const kept: string[] = [];
  const inserted: { line: number; text: string }[] = [];
  let origin: string | undefined;
  let open: string | undefined;
  for (const [i, text] of script.split("\n").entries()) {
    const [, begun, , note] = BEGIN.exec(text) ?? [];
    const [, ended] = END.exec(text) ?? [];
    if (begun !== undefined) {
      if (open !== undefined) throw damaged(open);
      open = begun;
      origin ??= note;
    } else if (ended !== undefined && open !== ended) {
      throw damaged(ended);
    }
    if (open !== undefined || isOurFlag(text, kept.at(-1))) inserted.push({ line: i + 1, text });
    else kept.push(text);
    if (ended !== undefined) open = undefined;
  }
  if (open !== undefined) throw damaged(open);
  return { script: kept.join("\n"), origin, inserted };
}

function isOurFlag(line: string, above: string | undefined): boolean {
  return line.trim() === FLAG_LINE && above?.trim() === anchors.find(({ id }) => id === "flag")?.candidates[0].line;
}

function damaged(id: string): DrawbridgeError {
  return new DrawbridgeError(
    "DB_IGNITION_ANCHORS",
    `the marks around drawbridge's "${id}" lines in bootkube.sh are damaged`,
  );
}
