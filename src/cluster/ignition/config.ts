/**
 * An Ignition config of spec 3.5, which is what every older 3.x is translated to, as data: which members there are, since
 * which 3.x, and how lists behave. Decoding, the search for duplicates, merging and writing go by it, and the types of a
 * config are derived from it. Members are in the order in which Ignition itself writes them.
 *
 * Absent and empty are different: a child's empty string replaces its parent's value, an absent one does not. Lists are
 * never empty but absent.
 */

/** The versions of the config spec: 3.0 to 3.5, named by their second number. */
export const minors = [0, 1, 2, 3, 4, 5] as const;
export type Minor = (typeof minors)[number];

export const NEWEST: Minor = 5;

export const versionOf = (minor: Minor): string => `3.${minor}.0`;

/** Numbers may have leading zeros, as Ignition reads them; anything behind a plus or minus names another version. */
const SPELLING = /^0{0,20}3\.0{0,20}(\d)\.0{1,20}$/;

export function minorOf(version: string): Minor | undefined {
  const digit = Number(SPELLING.exec(version)?.[1]);
  return minors.find((minor) => minor === digit);
}

type Entry = readonly [name: string, type: FieldType, since?: Minor];

export interface Shape<E extends readonly Entry[] = readonly Entry[]> {
  readonly fields: readonly Field[];
  readonly byFoldedName: ReadonlyMap<string, Field>;
  /** Lists in which an entry of one excludes an entry of the same key in the others. */
  readonly rivals?: readonly string[];
  /** Never set; carries the members' types. */
  readonly entries?: E;
}

export interface Field {
  readonly name: string;
  readonly since: Minor;
  readonly type: FieldType;
}

/** The members of a decoded object, for code that goes by the shape. */
export type Fields = Readonly<Record<string, unknown>>;

export type FieldType =
  | { readonly kind: "text"; readonly required: boolean }
  | { readonly kind: "integer" /** Of partitions only: 0 is no number. */; readonly zeroIsAbsent: boolean }
  | { readonly kind: "boolean" }
  | { readonly kind: "object"; readonly shape: Shape }
  /** Appended lists may repeat themselves; a child's entries go behind its parent's. */
  | { readonly kind: "texts"; readonly appended: boolean }
  | {
      readonly kind: "objects";
      readonly shape: Shape;
      readonly appended: boolean;
      readonly key: (entry: Fields) => string;
      /** A child's entry that only takes its parent's away. */
      readonly deletes?: (entry: Fields) => boolean;
    };

interface PlainValues {
  readonly text: string;
  readonly integer: number;
  readonly boolean: boolean;
  readonly texts: readonly string[];
}

type ValueOf<T> = T extends { readonly kind: infer K extends keyof PlainValues }
  ? PlainValues[K]
  : T extends { readonly kind: "objects"; readonly shape: infer S }
    ? readonly Decoded<S>[]
    : T extends { readonly shape: infer S }
      ? Decoded<S>
      : never;

/** The type of a decoded object: required texts are always there, everything else may be absent. */
export type Decoded<S> =
  S extends Shape<infer E>
    ? { readonly [M in E[number] as M[1] extends { readonly required: true } ? M[0] : never]: ValueOf<M[1]> } & {
        readonly [M in E[number] as M[1] extends { readonly required: true } ? never : M[0]]?: ValueOf<M[1]>;
      }
    : never;

function shape<const E extends readonly Entry[]>(...entries: E): Shape<E> {
  const fields = entries.map(([name, type, since = 0]) => ({ name, type, since }));
  return { fields, byFoldedName: new Map(fields.map((field) => [folded(field.name), field])) };
}

/** A member's name as Ignition compares it; two letters outside ASCII fold to ASCII ones. */
export const folded = (name: string): string => name.toLowerCase().replace(/\u017f/g, "s");

const text = { kind: "text", required: false } as const;
const requiredText = { kind: "text", required: true } as const;
const integer = { kind: "integer", zeroIsAbsent: false } as const;
const boolean = { kind: "boolean" } as const;
const texts = { kind: "texts", appended: false } as const;
const appendedTexts = { kind: "texts", appended: true } as const;
const object = <S extends Shape>(inner: S) => ({ kind: "object", shape: inner }) as const;
const listed = <S extends Shape>(inner: S, key: (entry: Fields) => string) =>
  ({ kind: "objects", shape: inner, appended: false, key }) as const;
const keyed = <S extends Shape>(inner: S, member: string) => listed(inner, (entry) => String(entry[member] ?? ""));

const verification = object(shape(["hash", text]));

export const header = shape(["name", requiredText], ["value", text]);

const headers = {
  ...keyed(header, "name"),
  /** A header without a value takes its parent's away. */
  deletes: (entry: Fields) => entry.value === undefined,
};

export const contents = shape(
  ["compression", text],
  ["httpHeaders", headers, 1],
  ["source", text],
  ["verification", verification],
);

/** Spec 3.0 knew compression for the contents of files only. */
export const reference = shape(
  ["compression", text, 1],
  ["httpHeaders", headers, 1],
  ["source", text],
  ["verification", verification],
);

const owner = object(shape(["id", integer], ["name", text]));

const node = [
  ["group", owner],
  ["overwrite", boolean],
  ["path", requiredText],
  ["user", owner],
] as const satisfies readonly Entry[];

export const fileShape = shape(
  ...node,
  ["append", { ...keyed(contents, "source"), appended: true }],
  ["contents", object(contents)],
  ["mode", integer],
);
export const directory = shape(...node, ["mode", integer]);
export const link = shape(...node, ["hard", boolean], ["target", text]);

export const partition = shape(
  ["guid", text],
  ["label", text],
  // From 1 on; absent for the next free one, which may also be written as 0.
  ["number", { kind: "integer", zeroIsAbsent: true }],
  ["resize", boolean, 2],
  ["shouldExist", boolean],
  ["sizeMiB", integer],
  ["startMiB", integer],
  ["typeGuid", text],
  ["wipePartitionEntry", boolean],
);

function partitionKey({ number, label }: Fields): string {
  if (number !== undefined) return `number:${number}`;
  return label === undefined ? "" : `label:${label}`;
}

export const disk = shape(
  ["device", requiredText],
  ["partitions", listed(partition, partitionKey)],
  ["wipeTable", boolean],
);

export const filesystem = shape(
  ["device", requiredText],
  ["format", text],
  ["label", text],
  ["mountOptions", appendedTexts, 1],
  ["options", appendedTexts],
  ["path", text],
  ["uuid", text],
  ["wipeFilesystem", boolean],
);

export const tang = shape(["advertisement", text, 4], ["thumbprint", text], ["url", requiredText]);

export const clevisCustom = shape(["config", text], ["needsNetwork", boolean], ["pin", text]);

export const clevis = shape(
  ["custom", object(clevisCustom)],
  ["tang", keyed(tang, "url")],
  ["threshold", integer],
  ["tpm2", boolean],
);

export const luks = shape(
  ["cex", object(shape(["enabled", boolean])), 5],
  ["clevis", object(clevis)],
  ["device", text],
  ["discard", boolean, 4],
  ["keyFile", object(reference)],
  ["label", text],
  ["name", requiredText],
  ["openOptions", texts, 4],
  ["options", appendedTexts],
  ["uuid", text],
  ["wipeVolume", boolean],
);

export const raid = shape(
  ["devices", texts],
  ["level", text],
  ["name", requiredText],
  ["options", appendedTexts],
  ["spares", integer],
);

export const storage = {
  ...shape(
    ["directories", keyed(directory, "path")],
    ["disks", keyed(disk, "device")],
    ["files", keyed(fileShape, "path")],
    ["filesystems", keyed(filesystem, "device")],
    ["links", keyed(link, "path")],
    ["luks", keyed(luks, "name"), 2],
    ["raid", keyed(raid, "name")],
  ),
  rivals: ["directories", "files", "links"],
};

const group = shape(
  ["gid", integer],
  ["name", requiredText],
  ["passwordHash", text],
  ["shouldExist", boolean, 2],
  ["system", boolean],
);

const user = shape(
  ["gecos", text],
  ["groups", texts],
  ["homeDir", text],
  ["name", requiredText],
  ["noCreateHome", boolean],
  ["noLogInit", boolean],
  ["noUserGroup", boolean],
  ["passwordHash", text],
  ["primaryGroup", text],
  ["sshAuthorizedKeys", texts],
  ["shell", text],
  ["shouldExist", boolean, 2],
  ["system", boolean],
  ["uid", integer],
);

const unit = shape(
  ["contents", text],
  ["dropins", keyed(shape(["contents", text], ["name", requiredText]), "name")],
  ["enabled", boolean],
  ["mask", boolean],
  ["name", requiredText],
);

export const proxy = shape(["httpProxy", text], ["httpsProxy", text], ["noProxy", texts]);

export const references = shape(["merge", keyed(reference, "source")], ["replace", object(reference)]);
export const trust = shape(["certificateAuthorities", keyed(reference, "source")]);

const ignition = shape(
  ["config", object(references)],
  ["proxy", object(proxy), 1],
  ["security", object(shape(["tls", object(trust)]))],
  ["timeouts", object(shape(["httpResponseHeaders", integer], ["httpTotal", integer]))],
  ["version", requiredText],
);

const kernelArguments = {
  ...shape(["shouldExist", texts], ["shouldNotExist", texts]),
  rivals: ["shouldExist", "shouldNotExist"],
};

export const configShape = shape(
  ["ignition", object(ignition)],
  ["kernelArguments", object(kernelArguments), 3],
  ["passwd", object(shape(["groups", keyed(group, "name")], ["users", keyed(user, "name")]))],
  ["storage", object(storage)],
  ["systemd", object(shape(["units", keyed(unit, "name")]))],
);

/** The part that must be known before the rest can be read. */
export const versionShape = shape(["ignition", object(shape(["version", requiredText]))]);

export type Config = Decoded<typeof configShape> & { readonly ignition: Decoded<typeof ignition> };
export type ProxySettings = Decoded<typeof proxy>;
/** Something to fetch: a config, an authority, a file's content, a key. */
export type Resource = Decoded<typeof contents>;
export type Storage = Decoded<typeof storage>;
export type Owner = NonNullable<FileEntry["user"]>;
export type FileEntry = Decoded<typeof fileShape>;
export type DirectoryEntry = Decoded<typeof directory>;
export type LinkEntry = Decoded<typeof link>;
/** The common part of files, directories and links. */
export type NodeEntry = Omit<LinkEntry, "hard" | "target">;
export type Luks = Decoded<typeof luks>;
export type Unit = Decoded<typeof unit>;
