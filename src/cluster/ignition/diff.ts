/** What differs between two payloads. */
import { aroundChanges, type Line, lineDiff } from "../../base/line-diff.js";
import { utf8Text } from "../../base/text.js";
import type { Config, Owner, Resource, Unit } from "./config.js";
import { bytesOf, oneLine, sizeText } from "./preview/preview.js";
import { secretIn, shownHeader, shownSource, withoutSecrets } from "./preview/secrets.js";
import { isInline } from "./resource.js";

interface ConfigChange {
  readonly subject: string;
  readonly change: "added" | "removed" | "changed";
  readonly aspects: readonly AspectChange[];
}

interface AspectChange {
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
  return names
    .filter((name) => before.get(name)?.exact !== after.get(name)?.exact)
    .map((name) => changedAspect(name, before.get(name), after.get(name)));
}

function changedAspect(name: string, was: Aspect | undefined, is: Aspect | undefined): AspectChange {
  const hidden = was?.hidden ?? is?.hidden;
  const hasSize = was?.size !== undefined || is?.size !== undefined;
  const shared: AspectChange = { name, ...(hasSize && { sizes: [was?.size ?? null, is?.size ?? null] }) };
  if (hidden !== undefined) return { ...shared, hidden };
  // Contents on one side only are as good as their size.
  if (was?.text !== undefined && is?.text !== undefined) return { ...shared, ...lineChange(was.text, is.text) };
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
interface Aspect {
  readonly exact: string;
  /** In a word; absent for contents. */
  readonly shown?: string;
  /** Contents that are text and may be shown. */
  readonly text?: string;
  /** Why contents are not shown. */
  readonly hidden?: string;
  readonly size?: number;
}

type Aspects = ReadonlyMap<string, Aspect>;

/** By name, `unit kubelet.service` say; files, directories and links share their names, as a path can only be one of them. */
function subjectsOf({ ignition, kernelArguments, passwd, storage = {}, systemd }: Config): Map<string, Aspects> {
  const subjects = new Map<string, Aspects>();
  const { config, proxy, security, timeouts } = ignition;
  const lists: readonly (readonly [kind: string, entries: readonly Entry[] | undefined])[] = [
    ["file", storage.files],
    ["directory", storage.directories],
    ["link", storage.links],
    ["unit", systemd?.units],
    ["user", passwd?.users],
    ["group", passwd?.groups],
    ["disk", storage.disks],
    ["array", storage.raid],
    ["file system", storage.filesystems],
    ["volume", storage.luks],
  ];
  for (const [kind, entries = []] of lists)
    for (const entry of entries)
      subjects.set(PATH_KINDS.has(kind) ? entry.path! : `${kind} ${idOf(entry)}`, aspectsOf(entry, kind));
  for (const [name, settings] of Object.entries({ "kernel arguments": kernelArguments, proxy, timeouts }))
    if (settings) subjects.set(name, aspectsOf(settings as Entry));
  if (config?.replace?.source)
    subjects.set("replacement config", resourceAspects("contents", config.replace, "config"));
  for (const resource of config?.merge ?? [])
    subjects.set(unused(subjects, `merged config ${place(resource)}`), resourceAspects("contents", resource, "config"));
  for (const resource of security?.tls?.certificateAuthorities ?? [])
    subjects.set(unused(subjects, `authority ${place(resource)}`), resourceAspects("contents", resource, "authority"));
  return subjects;
}

const PATH_KINDS = new Set(["file", "directory", "link"]);

/** Files, directories and links are known by their path; file systems have one as well. */
interface Entry {
  readonly path?: string;
  readonly name?: string;
  readonly device?: string;
  readonly hard?: boolean;
}

const idOf = ({ name, device, path = "" }: Entry): string => name ?? device ?? path;

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

const word = (exact: string): Aspect => ({ exact, shown: withoutSecrets(exact) });

/** All members but the one that names the entry. */
function aspectsOf(entry: Entry, kind = ""): Aspects {
  const id = idOf(entry);
  const aspects = new Map<string, Aspect>();
  if (PATH_KINDS.has(kind)) aspects.set("kind", word(entry.hard ? "hard link" : kind));
  for (const [name, value] of Object.entries(entry) as [string, unknown][]) {
    if (name === "hard" || (value === id && /^(name|device|path)$/.test(name))) continue;
    for (const [part, aspect] of memberAspects(name, value, id)) aspects.set(part, aspect);
  }
  return aspects;
}

/** What one member of an entry of the payload comes to. */
function memberAspects(name: string, value: unknown, id: string): Iterable<[name: string, aspect: Aspect]> {
  switch (name) {
    case "passwordHash":
    case "keyFile":
    case "clevis":
      return [[name, { exact: JSON.stringify(value), hidden: "secret" }]];
    case "contents":
      if (typeof value === "string") return [[name, contentAspect(Buffer.from(value), id)]];
      return resourceAspects(name, value as Resource, id);
    case "append":
      return (value as Resource[]).flatMap((part, at) => [...resourceAspects(`appended contents ${at + 1}`, part, id)]);
    case "dropins":
      return (value as NonNullable<Unit["dropins"]>).map(({ name: dropin, contents = "" }) => [
        `drop-in ${dropin}`,
        contentAspect(Buffer.from(contents), dropin),
      ]);
    case "mode":
      return [[name, word((value as number).toString(8).padStart(4, "0"))]];
    case "user":
    case "group": {
      const { id: number, name: owner } = value as Owner;
      const text = owner || number?.toString();
      return text === undefined ? [] : [[name, word(text)]];
    }
    default:
      return [[name, word(typeof value === "string" ? value : JSON.stringify(value))]];
  }
}

function resourceAspects(name: string, resource: Resource, path: string): Map<string, Aspect> {
  const aspects = new Map<string, Aspect>();
  const { source = "", httpHeaders = [], verification } = resource;
  for (const { name: header, value } of httpHeaders) {
    const shown = shownHeader(header, value);
    const isHidden = value !== undefined && shown !== value;
    aspects.set(`header ${header}`, { exact: value ?? "", ...(isHidden ? { hidden: "header" } : { shown }) });
  }
  if (!isInline(resource)) {
    aspects.set(name, { exact: source, shown: `from ${shownSource(source)}` });
    if (verification?.hash) aspects.set("hash", { exact: verification.hash, shown: verification.hash });
    return aspects;
  }
  const bytes = bytesOf(resource, path);
  const isBroken = typeof bytes === "string";
  return aspects.set(name, isBroken ? { exact: source, shown: `unreadable: ${bytes}` } : contentAspect(bytes, path));
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
  const sized = sizes === undefined ? "" : between(sizes.map((size) => (size === null ? "nothing" : sizeText(size))));
  if (hidden !== undefined) return `${head}${sized === "" ? "" : `${sized} `}(${hidden}, not shown)\n`;
  return `${head}${sized || between([before ?? "nothing", after ?? "nothing"].map(oneLine))}\n`;
}

const between = ([before = "", after = ""]: readonly string[]): string =>
  before === "nothing" ? after : `${before} -> ${after}`;
