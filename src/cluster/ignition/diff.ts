/** What differs between two payloads. */
import { aroundChanges, type Line, lineDiff } from "../../base/line-diff.js";
import { utf8Text } from "../../base/text.js";
import type { Config, FileEntry, NodeEntry, Owner, Resource, Unit } from "./config.js";
import { bytesOf } from "./preview/preview.js";
import { secretIn, shownHeader, shownSource, withoutSecrets } from "./preview/secrets.js";
import { bytesText, oneLine } from "./preview/show.js";

export interface ConfigChange {
  readonly subject: string;
  readonly change: "added" | "removed" | "changed";
  readonly aspects: readonly AspectChange[];
}

export interface AspectChange {
  readonly name: string;
  /** In a word each; absent where the aspect itself is, and for contents. */
  readonly before?: string;
  readonly after?: string;
  /** Why the difference is not shown. */
  readonly hidden?: string;
  /** Contents: sizes before and after, and the lines around changes with null where lines are left out. */
  readonly sizes?: readonly [before: number | null, after: number | null];
  readonly lines?: readonly (Line | null)[];
}

export function compare(before: Config, after: Config): ConfigChange[] {
  const [old, young] = [subjectsOf(before), subjectsOf(after)];
  const names = [...new Set([...old.keys(), ...young.keys()])].sort();
  return names.flatMap((subject) => {
    const [was, is] = [old.get(subject), young.get(subject)];
    const aspects = changedAspects(was ?? new Map(), is ?? new Map());
    const change = was === undefined ? "added" : is === undefined ? "removed" : "changed";
    return change === "changed" && aspects.length === 0 ? [] : [{ subject, change, aspects }];
  });
}

function changedAspects(before: Aspects, after: Aspects): AspectChange[] {
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return names.flatMap((name) => {
    const [was, is] = [before.get(name), after.get(name)];
    return was?.exact === is?.exact && was !== undefined && is !== undefined ? [] : [changedAspect(name, was, is)];
  });
}

function changedAspect(name: string, was: Aspect | undefined, is: Aspect | undefined): AspectChange {
  const hidden = was?.hidden ?? is?.hidden;
  const sizes = was?.size === undefined && is?.size === undefined ? undefined : [was?.size ?? null, is?.size ?? null];
  const shared = { name, ...(sizes && { sizes: sizes as [number | null, number | null] }) };
  if (hidden !== undefined) return { ...shared, hidden };
  // Contents on one side only are as good as their size.
  const isText = was?.text !== undefined && is?.text !== undefined;
  if (isText) return { ...shared, ...lineChange(was.text!, is.text!) };
  return {
    ...shared,
    ...(was?.shown !== undefined && { before: was.shown }),
    ...(is?.shown !== undefined && { after: is.shown }),
  };
}

function lineChange(before: string, after: string): Pick<AspectChange, "lines" | "hidden"> {
  const lines = lineDiff(before, after);
  if (lines === undefined) return { hidden: "too many changed lines" };
  const shown = aroundChanges(lines);
  return { lines: shown.map((line) => (line === undefined ? null : { ...line, text: withoutSecrets(line.text) })) };
}

/** One property of a subject: of a file, unit, user or setting. Two are equal when `exact` is; the rest is for showing. */
export interface Aspect {
  readonly exact: string;
  /** In a word; absent for contents. */
  readonly shown?: string;
  /** Contents that are text and may be shown. */
  readonly text?: string;
  /** Why contents are not shown. */
  readonly hidden?: string;
  readonly size?: number;
}

export type Aspects = ReadonlyMap<string, Aspect>;

/** By name, `file /etc/motd` say; files, directories and links share their names, as a path can only be one of them. */
export function subjectsOf(config: Config): Map<string, Aspects> {
  const { storage = {}, systemd, passwd, kernelArguments } = config;
  const subjects = new Map<string, Aspects>();
  for (const file of storage.files ?? []) subjects.set(file.path, fileAspects(file));
  for (const directory of storage.directories ?? [])
    subjects.set(directory.path, nodeAspects(directory, "directory", { mode: modeText(directory.mode) }));
  for (const link of storage.links ?? []) {
    const kind = link.hard === true ? "hard link" : "link";
    subjects.set(link.path, nodeAspects(link, kind, { target: link.target }));
  }
  for (const unit of systemd?.units ?? []) subjects.set(`unit ${unit.name}`, unitAspects(unit));
  if (kernelArguments) subjects.set("kernel arguments", plainAspects(kernelArguments));
  const others: readonly (readonly [kind: string, entries: readonly Named[] | undefined, secret?: string[]])[] = [
    ["user", passwd?.users, ["passwordHash"]],
    ["group", passwd?.groups, ["passwordHash"]],
    ["disk", storage.disks],
    ["array", storage.raid],
    ["file system", storage.filesystems],
    ["volume", storage.luks, ["keyFile", "clevis"]],
  ];
  for (const [kind, entries = [], secret] of others)
    for (const entry of entries) subjects.set(`${kind} ${entry.name ?? entry.device}`, plainAspects(entry, secret));
  addIgnition(config, subjects);
  return subjects;
}

/** Users, groups, arrays and volumes have names, disks and file systems devices. */
interface Named {
  readonly name?: string;
  readonly device?: string;
}

function addIgnition({ ignition }: Config, subjects: Map<string, Aspects>): void {
  const { config, proxy, security, timeouts } = ignition;
  if (config?.replace?.source) subjects.set("replacement config", resourceAspects(config.replace, "config"));
  for (const resource of config?.merge ?? [])
    subjects.set(unused(subjects, `merged config ${place(resource)}`), resourceAspects(resource, "config"));
  for (const resource of security?.tls?.certificateAuthorities ?? [])
    subjects.set(unused(subjects, `authority ${place(resource)}`), resourceAspects(resource, "authority"));
  if (proxy) subjects.set("proxy", plainAspects(proxy));
  if (timeouts) subjects.set("timeouts", plainAspects(timeouts));
}

/** Enough to distinguish two inline ones without showing their content. */
function place({ source = "" }: Resource): string {
  return source.startsWith("data:") ? `in the config, ${source.length} characters` : shownSource(source);
}

/** Sources that differ only in what is not shown of them. */
function unused(subjects: ReadonlyMap<string, Aspects>, name: string): string {
  let candidate = name;
  for (let count = 2; subjects.has(candidate); count += 1) candidate = `${name} (${count})`;
  return candidate;
}

function fileAspects(file: FileEntry): Aspects {
  const aspects = new Map(nodeAspects(file, "file", { mode: modeText(file.mode) }));
  if (file.contents) addResource(aspects, "contents", file.contents, file.path);
  for (const [index, part] of (file.append ?? []).entries())
    addResource(aspects, `appended contents ${index + 1}`, part, file.path);
  return aspects;
}

function nodeAspects(node: NodeEntry, kind: string, own: Readonly<Record<string, string | undefined>>): Aspects {
  const { overwrite, user, group } = node;
  return words({
    kind,
    ...own,
    user: ownerText(user),
    group: ownerText(group),
    overwrite: overwrite === undefined ? undefined : String(overwrite),
  });
}

const modeText = (mode: number | undefined): string | undefined => mode?.toString(8).padStart(4, "0");
const ownerText = (owner: Owner | undefined): string | undefined => owner && (owner.name || owner.id?.toString());

function words(values: Readonly<Record<string, string | undefined>>): Map<string, Aspect> {
  const given = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new Map(given.map(([name, value]) => [name, { exact: value, shown: withoutSecrets(value) }]));
}

function plainAspects(subject: object, secret: readonly string[] = []): Aspects {
  const aspects = new Map<string, Aspect>();
  for (const [name, value] of Object.entries(subject)) {
    if (name === "name" || name === "device") continue;
    const exact = typeof value === "string" ? value : JSON.stringify(value);
    aspects.set(name, secret.includes(name) ? { exact, hidden: "secret" } : { exact, shown: withoutSecrets(exact) });
  }
  return aspects;
}

function unitAspects({ enabled, mask, contents, dropins = [], name }: Unit): Aspects {
  const aspects = words({ enabled: enabled?.toString(), mask: mask?.toString() });
  if (contents !== undefined) aspects.set("contents", contentAspect(Buffer.from(contents), name));
  for (const dropin of dropins)
    aspects.set(`drop-in ${dropin.name}`, contentAspect(Buffer.from(dropin.contents ?? ""), dropin.name));
  return aspects;
}

function resourceAspects(resource: Resource, name: string): Aspects {
  const aspects = new Map<string, Aspect>();
  addResource(aspects, "contents", resource, name);
  return aspects;
}

function addResource(aspects: Map<string, Aspect>, name: string, resource: Resource, path: string): void {
  const { source = "", httpHeaders = [] } = resource;
  for (const { name: header, value } of httpHeaders) {
    const shown = shownHeader(header, value);
    const isHidden = value !== undefined && shown !== value;
    aspects.set(`header ${header}`, { exact: value ?? "", ...(isHidden ? { hidden: "header" } : { shown }) });
  }
  if (source !== "" && !source.startsWith("data:")) {
    aspects.set(name, { exact: source, shown: `from ${shownSource(source)}` });
    if (resource.verification?.hash)
      aspects.set("hash", { exact: resource.verification.hash, shown: resource.verification.hash });
    return;
  }
  const bytes = bytesOf(resource, path);
  aspects.set(
    name,
    typeof bytes === "string" ? { exact: source, shown: `unreadable: ${bytes}` } : contentAspect(bytes, path),
  );
}

function contentAspect(bytes: Buffer, path: string): Aspect {
  const exact = bytes.toString("latin1");
  const size = bytes.length;
  const secret = secretIn(path, bytes);
  if (secret !== undefined) return { exact, size, hidden: secret };
  const text = bytes.includes(0) ? undefined : utf8Text(bytes);
  return text === undefined ? { exact, size, hidden: "not text" } : { exact, size, text };
}

const SIGNS = { added: "+", removed: "-", changed: "~" } as const;
const LINE_SIGNS = { added: "+", removed: "-", same: " " } as const;

/** Differences as text, one subject after the other. */
export function showChanges(changes: readonly ConfigChange[]): string {
  if (changes.length === 0) return "The payloads do the same.\n";
  const count = (wanted: ConfigChange["change"]) => changes.filter(({ change }) => change === wanted).length;
  const summary = `${count("added")} added, ${count("removed")} removed, ${count("changed")} changed.\n`;
  return `${changes.map(changeText).join("")}\n${summary}`;
}

function changeText({ subject, change, aspects }: ConfigChange): string {
  // Of what is gone it is enough to know that it is.
  const details = change === "removed" ? "" : aspects.map(aspectText).join("");
  return `${SIGNS[change]} ${oneLine(subject)}\n${details}`;
}

function aspectText({ name, before, after, hidden, sizes, lines }: AspectChange): string {
  const head = `    ${oneLine(name)}: `;
  if (lines !== undefined) {
    const rows = lines.map((line) =>
      line === null ? "      ...\n" : `      ${LINE_SIGNS[line.op]}${oneLine(line.text)}\n`,
    );
    return `${head}\n${rows.join("")}`.replace(": \n", ":\n");
  }
  const sized = sizes === undefined ? "" : between(sizes.map((size) => (size === null ? "nothing" : bytesText(size))));
  if (hidden !== undefined) return `${head}${sized === "" ? "" : `${sized} `}(${hidden}, not shown)\n`;
  return `${head}${sized || between([before ?? "nothing", after ?? "nothing"].map(oneLine))}\n`;
}

const between = ([before = "", after = ""]: readonly string[]): string =>
  before === "nothing" ? after : `${before} -> ${after}`;
