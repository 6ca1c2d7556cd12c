/** A payload as a person wants to see it: what will be on the machine, without its secrets. */

import { X509Certificate } from "node:crypto";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { roughDuration, table } from "../../../base/text.js";
import { pemBlocks } from "../../../tunnel/pki/pem.js";
import type { Config, FileEntry, LinkEntry, NodeEntry, Owner, Resource, Unit } from "../config.js";
import { inlineContent, isInline } from "../resource.js";
import { secretIn, shownHeader, shownSource, withoutSecrets } from "./secrets.js";

type Preview = ReturnType<typeof preview>;
type PreviewEntry = ReturnType<typeof entryOf>;

export function preview(config: Config) {
  const { ignition, storage, systemd, passwd, kernelArguments } = config;
  const { merge = [], replace } = ignition.config ?? {};
  return {
    references: [
      ...(replace?.source ? [reference("replace", replace)] : []),
      ...merge.map((resource) => reference("merge", resource)),
    ],
    authorities: (ignition.security?.tls?.certificateAuthorities ?? []).map((ca) => shownContent(ca, "authority")),
    ...(ignition.proxy && { proxy: Object.fromEntries(Object.entries(ignition.proxy).map(shownProxy)) }),
    entries: entriesOf(config),
    units: (systemd?.units ?? []).map(unitOf),
    users: (passwd?.users ?? []).map(({ name, sshAuthorizedKeys = [], groups = [], passwordHash }) => ({
      name,
      keys: sshAuthorizedKeys.length,
      groups,
      hasPassword: !!passwordHash,
    })),
    groups: (passwd?.groups ?? []).map(({ name }) => name),
    kernelArguments: [
      ...(kernelArguments?.shouldExist ?? []).map(withoutSecrets),
      ...(kernelArguments?.shouldNotExist ?? []).map((argument) => `not ${withoutSecrets(argument)}`),
    ],
    // Devices and names of disks, arrays, file systems and volumes.
    devices: [
      ...(storage?.disks ?? []).map(({ device, partitions = [] }) => `${device} (${partitions.length} partitions)`),
      ...(storage?.raid ?? []).map(({ name, level = "" }) => `array ${name} (${level})`),
      ...(storage?.luks ?? []).map(({ name, device = "" }) => `volume ${name} on ${device}`),
      ...(storage?.filesystems ?? []).map(({ device, format = "", path = "" }) => `${device} ${format} ${path}`.trim()),
    ],
  };
}

function reference(use: "replace" | "merge", { source = "", httpHeaders = [] }: Resource) {
  const headers = httpHeaders.map(({ name, value }) => [name, shownHeader(name, value)] as const);
  return { use, source: shownSource(source), headers: Object.fromEntries(headers) };
}

const shownProxy = ([name, value]: [string, string | readonly string[]]): [name: string, shown: string] => [
  name,
  typeof value === "string" ? shownSource(value) : value.join(","),
];

function entriesOf({ storage }: Config) {
  const { files = [], directories = [], links = [] } = storage ?? {};
  const entries = [
    ...files.map((entry) => entryOf(entry, "file")),
    ...directories.map((entry) => entryOf(entry, "directory")),
    ...links.map((entry) => entryOf(entry, "link")),
  ];
  return entries.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function entryOf(entry: NodeEntry & Partial<FileEntry & LinkEntry>, kind: "file" | "directory" | "link") {
  const { path, user, group, mode, target = "", contents, append } = entry;
  return {
    path,
    owner: `${ownerOf(user)}:${ownerOf(group)}`,
    kind,
    ...(kind === "link" && { target }),
    ...(kind !== "link" && { mode: octal(mode ?? (kind === "file" ? 0o644 : 0o755)) }),
    ...(contents && { content: shownContent(contents, path) }),
    ...(append && { appended: append.map((part) => shownContent(part, path)) }),
  };
}

const ownerOf = ({ id, name }: Owner = {}): string => name || String(id ?? "root");

/** As it will be: the bits above the permissions have no effect before spec 3.6. */
const octal = (mode: number): string => (mode & 0o777).toString(8).padStart(4, "0");

function unitOf({ name, enabled, mask, contents, dropins = [] }: Unit) {
  const wanted = enabled === undefined ? "as it is" : enabled ? "enabled" : "disabled";
  return {
    name,
    state: mask === true ? "masked" : wanted,
    // Of its contents.
    ...(contents ? { size: Buffer.byteLength(contents) } : {}),
    dropins: dropins.map((dropin) => dropin.name),
  };
}

/** What a file or an authority holds, as far as it may be shown. */
interface ShownContent {
  /** Bytes once unpacked; absent when they are elsewhere or cannot be read. */
  readonly size?: number;
  /** Where the bytes are when they are not in the config. */
  readonly source?: string;
  /** Why they cannot be read. */
  readonly broken?: string;
  /** The kind of secret it is. */
  readonly secret?: string;
  readonly certificates?: readonly Certificate[];
}

interface Certificate {
  readonly subject: string;
  readonly notAfter: Date;
}

function shownContent(resource: Resource, path: string): ShownContent {
  const { source = "" } = resource;
  if (!isInline(resource)) return { source: shownSource(source) };
  const bytes = bytesOf(resource, path);
  if (typeof bytes === "string") return { broken: bytes };
  const secret = secretIn(path, bytes);
  const certificates = certificatesIn(bytes);
  return { size: bytes.length, ...(secret && { secret }), ...(certificates.length > 0 && { certificates }) };
}

/** The content, or the sentence that says why there is none. */
export function bytesOf(resource: Resource, path: string): Buffer | string {
  try {
    return inlineContent(resource, `the content of ${path}`);
  } catch (error) {
    if (error instanceof DrawbridgeError) return error.message;
    throw error;
  }
}

/** Bundles hold hundreds; the ones that end first are what matters. */
const MOST_CERTIFICATES = 500;

/** All the authorities of the web have less than 300 kB. */
const LARGEST_BUNDLE = 1024 * 1024;

function certificatesIn(bytes: Buffer): Certificate[] {
  if (bytes.length > LARGEST_BUNDLE) return [];
  const blocks = pemBlocks(bytes.toString("latin1")).filter(({ label }) => /^(?:TRUSTED )?CERTIFICATE$/.test(label));
  return blocks
    .slice(0, MOST_CERTIFICATES)
    .flatMap(({ text }) => readable(text))
    .sort((a, b) => a.notAfter.getTime() - b.notAfter.getTime());
}

/** A block that is no certificate after all is the machine's problem, not the preview's. */
function readable(pem: string): Certificate[] {
  try {
    const { subject, validTo } = new X509Certificate(pem);
    return [{ subject: subject?.split("\n").reverse().join(",") ?? "", notAfter: new Date(validTo) }];
  } catch {
    return [];
  }
}

/** A preview as text. */
export function showPreview(preview: Preview, now: Date): string {
  const { references, authorities, proxy, entries, units, users, groups, kernelArguments, devices } = preview;
  const unitRows = units.map(({ name, state, size, dropins }) => {
    const parts = dropins.length === 0 ? "" : `drop-ins: ${dropins.join(", ")}`;
    return [name, state, size === undefined ? "" : sizeText(size), parts];
  });
  return [
    section("Fetches", references, ({ use, source, headers }) => {
      const names = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      return `${use} ${source}${names.length === 0 ? "" : ` with ${names.join(", ")}`}`;
    }),
    section("Proxy", Object.entries(proxy ?? {}), ([name, value]) => `${name} ${value}`),
    section(
      "Authorities",
      authorities.flatMap(
        (content) => content.certificates?.map((one) => certificateText(one, now)) ?? contentText(content),
      ),
    ),
    entries.length === 0 ? "" : `Files\n${treeText(entries, now)}\n`,
    section("Units", table(unitRows).split("\n").slice(0, -1)),
    section("Users", users, ({ name, keys, groups: of, hasPassword }) =>
      [`${name}: ${keys} ssh keys`, hasPassword && "password set (hidden)", of.length > 0 && `groups ${of.join(", ")}`]
        .filter((fact) => fact !== false)
        .join("; "),
    ),
    section("Groups", groups),
    section("Kernel arguments", kernelArguments),
    section("Devices", devices),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

function section<T>(title: string, items: readonly T[], text: (item: T) => string = String): string {
  return items.length === 0 ? "" : `${title}\n${items.map((item) => `  ${oneLine(text(item))}\n`).join("")}`;
}

/** Names and contents in a payload come from others; they must not steer a terminal. */
export const oneLine = (text: string): string => text.replaceAll("\t", "    ").replace(/[\p{Cc}\p{Cf}]/gu, "?");

function treeText(entries: readonly PreviewEntry[], now: Date): string {
  const lines = treeLines(entries);
  // A payload can hold more lines than a call takes arguments.
  const widest = lines.reduce((width, { name }) => Math.max(width, name.length), 0);
  return lines.flatMap((line) => lineText(line, Math.min(60, widest), now)).join("\n");
}

function lineText({ name, entry, below }: TreeLine, width: number, now: Date): string[] {
  if (entry === undefined) return [`  ${oneLine(name)}`];
  const slash = entry.kind === "directory" && entry.path !== "/" ? "/" : "";
  const first = `  ${oneLine(name + slash).padEnd(width + 1)}  ${oneLine(properties(entry))}`.trimEnd();
  const certificates = entry.content?.certificates ?? [];
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
  return `${sizeText(size ?? 0)}${secret === undefined ? "" : `  (${secret}, hidden)`}`;
}

export function sizeText(size: number): string {
  if (size < 1000) return `${size} B`;
  return size < 1_000_000 ? `${(size / 1000).toFixed(1)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
}

function certificateText({ subject, notAfter }: Certificate, now: Date): string {
  const left = notAfter.getTime() - now.getTime();
  const state = left <= 0 ? `EXPIRED ${roughDuration(-left)} ago` : `ends in ${roughDuration(left)}`;
  return `certificate ${subject || "without subject"}, ${state} (${notAfter.toISOString().slice(0, 10)})`;
}

/** Folders that only lead to something have no entry. */
interface Branch {
  readonly children: Map<string, Branch>;
  entry?: PreviewEntry;
}

interface TreeLine {
  /** With the strokes that lead to it. */
  readonly name: string;
  readonly entry: PreviewEntry | undefined;
  /** What the strokes are on lines that belong to this one. */
  readonly below: string;
}

/** A path of a thousand steps is no tree anyone reads. */
const DEEPEST = 100;

function treeLines(entries: readonly PreviewEntry[]): TreeLine[] {
  const root: Branch = { children: new Map() };
  for (const entry of entries) {
    const steps = entry.path.split("/").filter((step) => step !== "");
    const kept = steps.length > DEEPEST ? [...steps.slice(0, DEEPEST), steps.slice(DEEPEST).join("/")] : steps;
    let branch = root;
    for (const step of kept) {
      const next = branch.children.get(step) ?? { children: new Map() };
      branch.children.set(step, next);
      branch = next;
    }
    branch.entry = entry;
  }
  return [{ name: "/", entry: root.entry, below: "  " }, ...linesBelow(root, "")];
}

function linesBelow({ children }: Branch, stem: string): TreeLine[] {
  const list = [...children].sort(([a], [b]) => (a < b ? -1 : 1));
  return list.flatMap(([name, branch], index) => {
    const isLast = index === list.length - 1;
    const below = `${stem}${isLast ? "    " : "│   "}`;
    const line = { name: `${stem}${isLast ? "└── " : "├── "}${name}`, entry: branch.entry, below };
    return [line, ...linesBelow(branch, below)];
  });
}
