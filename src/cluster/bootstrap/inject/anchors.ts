/** The lines of the installer's bootkube.sh that the bridge's calls are tied to. */
import { DrawbridgeError } from "../../../base/errors/error.js";

export type AnchorId = "source" | "setup" | "flag" | "copy" | "manifests" | "cleanup";

interface Candidate {
  readonly line: string;
  /** The line only begins like this. */
  readonly prefix?: true;
}

interface Anchor {
  readonly id: AnchorId;
  readonly place: "before" | "after";
  /** The one that stands in newer releases comes first. */
  readonly candidates: readonly [Candidate, ...Candidate[]];
}

/** In the order in which they stand in the script. */
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
export interface Place {
  readonly id: AnchorId;
  readonly line: number;
  /** White space in front of the anchor. */
  readonly indent: string;
}

interface Finding {
  readonly anchor: string;
  readonly id: AnchorId;
  readonly found: number;
}

export type Search =
  | { readonly places: ReadonlyMap<AnchorId, Place> }
  | { readonly places?: undefined; readonly reason: string; readonly findings: readonly Finding[] };

/** Spaces and tabs only: a carriage return at the end makes another line, and no script that bash runs. */
const trimmed = (line: string): string => line.replace(/^[ \t]+|[ \t]+$/g, "");

export function findAnchors(script: string, wanted: readonly AnchorId[]): Search {
  const lines = script.split("\n");
  const findings: Finding[] = [];
  const places = new Map<AnchorId, Place>();
  const reasons: string[] = [];
  let last = -1;
  for (const anchor of anchors.filter(({ id }) => wanted.includes(id))) {
    const hits = anchor.candidates.map((candidate) => linesWith(lines, candidate));
    for (const [i, { line }] of anchor.candidates.entries())
      findings.push({ anchor: line, id: anchor.id, found: hits[i]?.length ?? 0 });
    const found = hits.find((hit) => hit.length > 0) ?? [];
    const [at] = found;
    if (at === undefined || found.length !== 1) {
      reasons.push(`${anchor.id} ${at === undefined ? "is missing" : `stands ${found.length} times`}`);
      continue;
    }
    if (at < last) reasons.push(`${anchor.id} stands out of order`);
    last = at;
    const line = anchor.place === "after" ? at + 1 : aboveWorkaround(lines, at);
    if (anchor.id !== "flag" && continues(lines[line - 1])) reasons.push(`${anchor.id} stands inside a longer command`);
    places.set(anchor.id, { id: anchor.id, line, indent: /^[ \t]*/.exec(lines[at]!)![0] });
  }
  return reasons.length === 0 ? { places } : { reason: reasons.join(", "), findings };
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

/** The refusal, with every anchor and how often it was found. */
export function unknownScript(search: Extract<Search, { reason: string }>): DrawbridgeError {
  const list = search.findings.map(({ anchor, id, found }) => `${id} \`${anchor}\` ${found}x`).join("; ");
  return new DrawbridgeError(
    "DB_IGNITION_ANCHORS",
    `bootkube.sh is not one of the known kinds (${search.reason}); anchors found: ${list}`,
  );
}
