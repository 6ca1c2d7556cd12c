/** A preview as text. */
import { roughDuration, table } from "../../../base/text.js";
import type {
  Certificate,
  ConfigReference,
  Preview,
  PreviewEntry,
  PreviewUnit,
  PreviewUser,
  ShownContent,
} from "./preview.js";

export function showPreview(preview: Preview, now: Date): string {
  const { references, authorities, proxy, entries, units, users, groups, kernelArguments, devices } = preview;
  return [
    section("Fetches", references.map(referenceText)),
    section(
      "Proxy",
      Object.entries(proxy ?? {}).map(([name, value]) => `${name} ${value}`),
    ),
    section(
      "Authorities",
      authorities.flatMap((content) => authorityLines(content, now)),
    ),
    entries.length === 0 ? "" : `Files\n${treeText(entries, now)}\n`,
    section("Units", table(units.map(unitRow)).split("\n").slice(0, -1)),
    section("Users", users.map(userText)),
    section("Groups", groups),
    section("Kernel arguments", kernelArguments),
    section("Devices", devices),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : `${title}\n${lines.map((line) => `  ${oneLine(line)}\n`).join("")}`;
}

/** Names and contents in a payload come from others; they must not steer a terminal. */
export const oneLine = (text: string): string => text.replaceAll("\t", "    ").replace(/[\p{Cc}\p{Cf}]/gu, "?");

function referenceText({ use, source, headers }: ConfigReference): string {
  const names = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `${use} ${source}${names.length === 0 ? "" : ` with ${names.join(", ")}`}`;
}

function authorityLines(content: ShownContent, now: Date): string[] {
  const { certificates = [] } = content;
  return certificates.length === 0 ? [contentText(content)] : certificates.map((one) => certificateText(one, now));
}

function treeText(entries: readonly PreviewEntry[], now: Date): string {
  const lines = treeLines(entries);
  const width = Math.min(60, widest(lines.map(({ name }) => name)));
  return lines.flatMap((line) => lineText(line, width, now)).join("\n");
}

function lineText({ name, value, below }: TreeLine<PreviewEntry>, width: number, now: Date): string[] {
  if (value === undefined) return [`  ${oneLine(name)}`];
  const slash = value.kind === "directory" && value.path !== "/" ? "/" : "";
  const first = `  ${oneLine(name + slash).padEnd(width + 1)}  ${oneLine(properties(value))}`.trimEnd();
  const certificates = value.content?.certificates ?? [];
  const shown = certificates.slice(0, 3).map((certificate) => certificateText(certificate, now));
  if (certificates.length > 3) shown.push(`and ${certificates.length - 3} certificates that end later`);
  return [first, ...shown.map((text) => `  ${below}  ${oneLine(text)}`)];
}

function properties({ kind, mode = "", owner, target, content, appended = [] }: PreviewEntry): string {
  if (kind === "link") return `-> ${target} ${owner === "root:root" ? "" : owner}`;
  const parts = [mode, owner];
  if (kind === "file") parts.push(content === undefined ? "no contents" : contentText(content));
  for (const part of appended) parts.push(`+ ${contentText(part)}`);
  return parts.join("  ");
}

function contentText({ size, source, broken, secret }: ShownContent): string {
  if (source !== undefined) return `from ${source}`;
  if (broken !== undefined) return `UNREADABLE: ${broken}`;
  return `${bytesText(size ?? 0)}${secret === undefined ? "" : `  (${secret}, hidden)`}`;
}

export function bytesText(size: number): string {
  if (size < 1000) return `${size} B`;
  return size < 1_000_000 ? `${(size / 1000).toFixed(1)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
}

function certificateText({ subject, notAfter }: Certificate, now: Date): string {
  const left = notAfter.getTime() - now.getTime();
  const state = left <= 0 ? `EXPIRED ${roughDuration(-left)} ago` : `ends in ${roughDuration(left)}`;
  return `certificate ${subject || "without subject"}, ${state} (${notAfter.toISOString().slice(0, 10)})`;
}

function unitRow({ name, state, size, dropins }: PreviewUnit): string[] {
  const parts = dropins.length === 0 ? "" : `drop-ins: ${dropins.join(", ")}`;
  return [name, state, size === undefined ? "" : bytesText(size), parts];
}

function userText({ name, keys, groups, hasPassword }: PreviewUser): string {
  const facts = [`${keys} ssh keys`, ...(hasPassword ? ["password set (hidden)"] : [])];
  if (groups.length > 0) facts.push(`groups ${groups.join(", ")}`);
  return `${name}: ${facts.join("; ")}`;
}

/** A payload can hold more lines than a call takes arguments. */
const widest = (texts: readonly string[]): number => texts.reduce((width, text) => Math.max(width, text.length), 0);

/** Paths as a tree. Folders that only lead to something have no properties. */
interface Branch<T> {
  readonly children: Map<string, Branch<T>>;
  value?: T;
}

export interface TreeLine<T> {
  /** With the strokes that lead to it. */
  readonly name: string;
  readonly value: T | undefined;
  /** What the strokes are on lines that belong to this one. */
  readonly below: string;
}

/** A path of a thousand steps is no tree anyone reads. */
const DEEPEST = 100;

export function treeLines<T extends { readonly path: string }>(entries: readonly T[]): TreeLine<T>[] {
  const root: Branch<T> = { children: new Map() };
  for (const entry of entries) {
    const steps = entry.path.split("/").filter((step) => step !== "");
    const kept = steps.length > DEEPEST ? [...steps.slice(0, DEEPEST), steps.slice(DEEPEST).join("/")] : steps;
    let branch = root;
    for (const step of kept) {
      const next = branch.children.get(step) ?? { children: new Map() };
      branch.children.set(step, next);
      branch = next;
    }
    branch.value = entry;
  }
  return [{ name: "/", value: root.value, below: "  " }, ...linesBelow(root, "")];
}

function linesBelow<T>({ children }: Branch<T>, stem: string): TreeLine<T>[] {
  const list = [...children].sort(([a], [b]) => (a < b ? -1 : 1));
  return list.flatMap(([name, branch], index) => {
    const isLast = index === list.length - 1;
    const next = `${stem}${isLast ? "    " : "│   "}`;
    const line = { name: `${stem}${isLast ? "└── " : "├── "}${name}`, value: branch.value, below: next };
    return [line, ...linesBelow(branch, next)];
  });
}
