/** Puts the bridge's calls into the installer's bootkube.sh, and takes them out again to the byte. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { openshiftHost } from "../model/names.js";

export type AnchorId = "source" | "setup" | "flag" | "copy" | "manifests" | "cleanup";

interface Candidate {
  readonly line: string;
  /** The line only begins like this. */
  readonly prefix?: true;
}

interface Anchor {
  readonly id: AnchorId;
  readonly place: "before" | "after";
  /** The one of newer releases comes first. */
  readonly candidates: readonly [Candidate, ...Candidate[]];
}

/** The lines of bootkube.sh that the bridge's calls are tied to, in their order in the script. */
export const anchors: readonly Anchor[] = [
  {
    id: "source",
    place: "after",
    candidates: [
      { line: ". /usr/local/bin/bootstrap-verify-api-server-urls.sh" },
      { line: ". /usr/local/bin/bootstrap-cluster-gather.sh" },
      { line: ". /usr/local/bin/release-image.sh" },
    ],
  },
  { id: "setup", place: "before", candidates: [{ line: "if [ ! -f kube-apiserver-bootstrap.done ]" }] },
  // The first argument: releases differ in the last one, and some leave a backslash dangling there.
  { id: "flag", place: "after", candidates: [{ line: "/usr/bin/cluster-kube-apiserver-operator render \\" }] },
  {
    id: "copy",
    place: "after",
    candidates: [
      { line: "cp kube-apiserver-bootstrap/config /etc/kubernetes/bootstrap-configs/kube-apiserver-config.yaml" },
    ],
  },
  // Behind the machine-config operator's stage, which copies every manifest there is by then.
  {
    id: "manifests",
    place: "before",
    candidates: [{ line: 'REQUIRED_PODS="openshift', prefix: true }, { line: 'echo "Starting cluster-bootstrap..."' }],
  },
  { id: "cleanup", place: "before", candidates: [{ line: "touch /opt/openshift/.bootkube.done" }] },
];

/** Where to insert: in front of the line with this index. */
export interface AnchorPlace {
  readonly id: AnchorId;
  readonly line: number;
  /** White space in front of the anchor. */
  readonly indent: string;
}

/** Spaces and tabs only: a carriage return at the end makes another line, and no script that bash runs. */
const trimmed = (line: string): string => line.replace(/^[ \t]+|[ \t]+$/g, "");

/** Where each wanted anchor is; when the script is of no known kind, the refusal, with every anchor and how often it is there. */
export function findAnchors(
  script: string,
  wanted: readonly AnchorId[],
): ReadonlyMap<AnchorId, AnchorPlace> | DrawbridgeError {
  const lines = script.split("\n");
  const counts: string[] = [];
  const places = new Map<AnchorId, AnchorPlace>();
  const reasons: string[] = [];
  let last = -1;
  for (const { id, place, candidates } of anchors.filter((anchor) => wanted.includes(anchor.id))) {
    const hits = candidates.map((candidate) => linesWith(lines, candidate));
    counts.push(...candidates.map(({ line }, i) => `${id} \`${line}\` ${hits[i]?.length ?? 0}x`));
    const found = hits.find((hit) => hit.length > 0) ?? [];
    const [at] = found;
    if (at === undefined || found.length !== 1) {
      reasons.push(`${id} ${at === undefined ? "is missing" : `occurs ${found.length} times`}`);
      continue;
    }
    if (at < last) reasons.push(`${id} is out of order`);
    last = at;
    const line = place === "after" ? at + 1 : aboveWorkaround(lines, at);
    if (id !== "flag" && continues(lines[line - 1])) reasons.push(`${id} is inside a longer command`);
    places.set(id, { id, line, indent: /^[ \t]*/.exec(lines[at]!)![0] });
  }
  if (reasons.length === 0) return places;
  return new DrawbridgeError(
    "DB_IGNITION_ANCHORS",
    `bootkube.sh is not one of the known kinds (${reasons.join(", ")}); anchors found: ${counts.join("; ")}`,
  );
}

function linesWith(lines: readonly string[], { line, prefix }: Candidate): number[] {
  const matches = (text: string) => (prefix ? trimmed(text).startsWith(line) : trimmed(text) === line);
  return lines.flatMap((text, i) => (matches(text) ? [i] : []));
}

/** The comment about runc belongs to the line below it. */
function aboveWorkaround(lines: readonly string[], at: number): number {
  const above = trimmed(lines[at - 1] ?? "");
  return above.startsWith("#") && above.includes("runc") ? at - 1 : at;
}

const continues = (line: string | undefined): boolean => line?.endsWith("\\") ?? false;

export const BOOTKUBE = "/usr/local/bin/bootkube.sh";

/** Version of the inserted text; an older text is removed and inserted again. */
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

/** A script without any hooks needs them all; one that calls upstream's needs the kube-apiserver's configuration. */
export const needed = {
  absent: anchors.map(({ id }) => id),
  "upstream-off": ["flag", "copy"],
} as const satisfies Record<string, readonly AnchorId[]>;

/** `origin` goes into a comment, so that taking it out can be proved. Throws DB_IGNITION_ANCHORS. */
export function patchBootkube(script: string, wanted: readonly AnchorId[], origin: string): string {
  const places = findAnchors(script, wanted);
  if (places instanceof DrawbridgeError) throw places;
  const lines = script.split("\n");
  for (const place of [...places.values()].sort((a, b) => b.line - a.line))
    lines.splice(place.line, 0, ...linesAt(place, lines, origin));
  return lines.join("\n");
}

function linesAt({ id, line, indent }: AnchorPlace, lines: readonly string[], origin: string): string[] {
  // No comment is possible inside a continued command: there the flag is its own mark.
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
