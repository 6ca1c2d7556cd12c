/** A payload as a person wants to see it: what will be on the machine, without its secrets. */

import { X509Certificate } from "node:crypto";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { pemBlocks } from "../../../tunnel/pki/pem.js";
import type { Config, FileEntry, LinkEntry, NodeEntry, Owner, Resource, Unit } from "../config.js";
import { inlineContent, isInline } from "../resource.js";
import { secretIn, shownHeader, shownSource, withoutSecrets } from "./secrets.js";

export type Preview = ReturnType<typeof preview>;
export type PreviewEntry = ReturnType<typeof entryOf>;
export type PreviewUnit = ReturnType<typeof unitOf>;
export type PreviewUser = Preview["users"][number];
/** Another config that this one names. */
export type ConfigReference = ReturnType<typeof reference>;

export function preview(config: Config) {
  const { ignition, storage, systemd, passwd, kernelArguments } = config;
  const { merge = [], replace } = ignition.config ?? {};
  return {
    references: [
      ...(replace?.source ? [reference("replace", replace)] : []),
      ...merge.map((resource) => reference("merge", resource)),
    ],
    authorities: (ignition.security?.tls?.certificateAuthorities ?? []).map((ca) => shownContent(ca, "authority")),
    ...(ignition.proxy && { proxy: proxyOf(ignition.proxy) }),
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

function proxyOf({ httpProxy, httpsProxy, noProxy }: NonNullable<Config["ignition"]["proxy"]>): Record<string, string> {
  return {
    ...(httpProxy && { httpProxy: shownSource(httpProxy) }),
    ...(httpsProxy && { httpsProxy: shownSource(httpsProxy) }),
    ...(noProxy && { noProxy: noProxy.join(",") }),
  };
}

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
export interface ShownContent {
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

export interface Certificate {
  readonly subject: string;
  readonly notAfter: Date;
}

export function shownContent(resource: Resource, path: string): ShownContent {
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
