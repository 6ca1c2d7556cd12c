/** A payload as a person wants to see it: what will be on the machine, without its secrets. */
import type { Config, FileEntry, NodeEntry, Owner, Resource, Unit } from "../model/config.js";
import { type Content, contentOf } from "./content.js";
import { shownHeader, shownSource, withoutSecrets } from "./secrets.js";

export interface Preview {
  readonly references: readonly Reference[];
  readonly authorities: readonly Content[];
  readonly proxy?: Readonly<Record<string, string>>;
  readonly entries: readonly PreviewEntry[];
  readonly units: readonly PreviewUnit[];
  readonly users: readonly PreviewUser[];
  readonly groups: readonly string[];
  readonly kernelArguments: readonly string[];
  /** Devices and names of disks, arrays, file systems and volumes. */
  readonly devices: readonly string[];
}

/** Another config that this one names. */
export interface Reference {
  readonly use: "replace" | "merge";
  readonly source: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface PreviewEntry {
  readonly path: string;
  readonly kind: "file" | "directory" | "link";
  /** Four octal digits; absent for links. */
  readonly mode?: string;
  readonly owner: string;
  readonly target?: string;
  readonly content?: Content;
  readonly appended?: readonly Content[];
}

export interface PreviewUnit {
  readonly name: string;
  readonly state: "enabled" | "disabled" | "masked" | "as it is";
  /** Of its contents; absent when it has none. */
  readonly size?: number;
  readonly dropins: readonly string[];
}

export interface PreviewUser {
  readonly name: string;
  readonly keys: number;
  readonly groups: readonly string[];
  readonly hasPassword: boolean;
}

export function preview(config: Config): Preview {
  const { ignition, storage, systemd, passwd, kernelArguments } = config;
  const { merge = [], replace } = ignition.config ?? {};
  return {
    references: [
      ...(replace?.source ? [reference("replace", replace)] : []),
      ...merge.map((resource) => reference("merge", resource)),
    ],
    authorities: (ignition.security?.tls?.certificateAuthorities ?? []).map((ca) => contentOf(ca, "authority")),
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
    devices: [
      ...(storage?.disks ?? []).map(({ device, partitions = [] }) => `${device} (${partitions.length} partitions)`),
      ...(storage?.raid ?? []).map(({ name, level = "" }) => `array ${name} (${level})`),
      ...(storage?.luks ?? []).map(({ name, device = "" }) => `volume ${name} on ${device}`),
      ...(storage?.filesystems ?? []).map(({ device, format = "", path = "" }) => `${device} ${format} ${path}`.trim()),
    ],
  };
}

function reference(use: Reference["use"], { source = "", httpHeaders = [] }: Resource): Reference {
  const headers = httpHeaders.map(({ name, value }) => [name, shownHeader(name, value)]);
  return { use, source: shownSource(source), headers: Object.fromEntries(headers) };
}

function proxyOf({ httpProxy, httpsProxy, noProxy }: NonNullable<Config["ignition"]["proxy"]>): Record<string, string> {
  return {
    ...(httpProxy && { httpProxy: shownSource(httpProxy) }),
    ...(httpsProxy && { httpsProxy: shownSource(httpsProxy) }),
    ...(noProxy && { noProxy: noProxy.join(",") }),
  };
}

function entriesOf({ storage }: Config): PreviewEntry[] {
  const { files = [], directories = [], links = [] } = storage ?? {};
  const entries: PreviewEntry[] = [
    ...files.map(fileOf),
    ...directories.map((entry) => ({ ...common(entry), kind: "directory" as const, mode: octal(entry.mode ?? 0o755) })),
    ...links.map((entry) => ({ ...common(entry), kind: "link" as const, target: entry.target ?? "" })),
  ];
  return entries.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function fileOf(file: FileEntry): PreviewEntry {
  return {
    ...common(file),
    kind: "file",
    mode: octal(file.mode ?? 0o644),
    ...(file.contents && { content: contentOf(file.contents, file.path) }),
    ...(file.append && { appended: file.append.map((part) => contentOf(part, file.path)) }),
  };
}

const common = ({ path, user, group }: NodeEntry) => ({ path, owner: `${ownerOf(user)}:${ownerOf(group)}` });
const ownerOf = ({ id, name }: Owner = {}): string => name || String(id ?? "root");

/** As it will be: the bits above the permissions have no effect before spec 3.6. */
const octal = (mode: number): string => (mode & 0o777).toString(8).padStart(4, "0");

function unitOf({ name, enabled, mask, contents, dropins = [] }: Unit): PreviewUnit {
  const wanted = enabled === undefined ? "as it is" : enabled ? "enabled" : "disabled";
  return {
    name,
    state: mask === true ? "masked" : wanted,
    ...(contents && { size: Buffer.byteLength(contents) }),
    dropins: dropins.map((dropin) => dropin.name),
  };
}
