/**
 * The shape of a config as data: which members there are, since which 3.x, and how lists behave. Decoding, the search
 * for duplicates, merging and writing all go by it. Members stand in the order in which Ignition itself writes them.
 */
import type { Minor } from "./spec.js";

export interface Shape {
  readonly fields: readonly Field[];
  /** Lists in which an entry of one excludes an entry of the same key in the others. */
  readonly rivals?: readonly string[];
}

export interface Field {
  readonly name: string;
  readonly since: Minor;
  readonly type: FieldType;
}

/** What a decoded object holds; the interfaces of config.ts say the same more precisely. */
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

type Entry = readonly [name: string, type: FieldType, since?: Minor];

const shape = (...entries: readonly Entry[]): Shape => ({
  fields: entries.map(([name, type, since = 0]) => ({ name, type, since })),
});

const text: FieldType = { kind: "text", required: false };
const requiredText: FieldType = { kind: "text", required: true };
const integer: FieldType = { kind: "integer", zeroIsAbsent: false };
const boolean: FieldType = { kind: "boolean" };
const texts: FieldType = { kind: "texts", appended: false };
const appendedTexts: FieldType = { kind: "texts", appended: true };
const object = (inner: Shape): FieldType => ({ kind: "object", shape: inner });
const keyed = (inner: Shape, member: string): FieldType => ({
  kind: "objects",
  shape: inner,
  appended: false,
  key: (entry) => String(entry[member] ?? ""),
});

const verification = object(shape(["hash", text]));

const headers: FieldType = {
  kind: "objects",
  shape: shape(["name", requiredText], ["value", text]),
  appended: false,
  key: (entry) => String(entry.name),
  deletes: (entry) => entry.value === undefined,
};

const contents = shape(
  ["compression", text],
  ["httpHeaders", headers, 1],
  ["source", text],
  ["verification", verification],
);

/** Spec 3.0 knew compression for the contents of files only. */
const reference = shape(
  ["compression", text, 1],
  ["httpHeaders", headers, 1],
  ["source", text],
  ["verification", verification],
);

const owner = object(shape(["id", integer], ["name", text]));

const node: readonly Entry[] = [
  ["group", owner],
  ["overwrite", boolean],
  ["path", requiredText],
  ["user", owner],
];

const file = shape(
  ...node,
  ["append", { kind: "objects", shape: contents, appended: true, key: (entry) => String(entry.source ?? "") }],
  ["contents", object(contents)],
  ["mode", integer],
);
const directory = shape(...node, ["mode", integer]);
const link = shape(...node, ["hard", boolean], ["target", text]);

const partition = shape(
  ["guid", text],
  ["label", text],
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

const disk = shape(
  ["device", requiredText],
  ["partitions", { kind: "objects", shape: partition, appended: false, key: partitionKey }],
  ["wipeTable", boolean],
);

const filesystem = shape(
  ["device", requiredText],
  ["format", text],
  ["label", text],
  ["mountOptions", appendedTexts, 1],
  ["options", appendedTexts],
  ["path", text],
  ["uuid", text],
  ["wipeFilesystem", boolean],
);

const tang = shape(["advertisement", text, 4], ["thumbprint", text], ["url", requiredText]);

const clevis = shape(
  ["custom", object(shape(["config", text], ["needsNetwork", boolean], ["pin", text]))],
  ["tang", keyed(tang, "url")],
  ["threshold", integer],
  ["tpm2", boolean],
);

const luks = shape(
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

const raid = shape(
  ["devices", texts],
  ["level", text],
  ["name", requiredText],
  ["options", appendedTexts],
  ["spares", integer],
);

const storage: Shape = {
  ...shape(
    ["directories", keyed(directory, "path")],
    ["disks", keyed(disk, "device")],
    ["files", keyed(file, "path")],
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

const ignition = shape(
  ["config", object(shape(["merge", keyed(reference, "source")], ["replace", object(reference)]))],
  ["proxy", object(shape(["httpProxy", text], ["httpsProxy", text], ["noProxy", texts])), 1],
  ["security", object(shape(["tls", object(shape(["certificateAuthorities", keyed(reference, "source")]))]))],
  ["timeouts", object(shape(["httpResponseHeaders", integer], ["httpTotal", integer]))],
  ["version", requiredText],
);

const kernelArguments: Shape = {
  ...shape(["shouldExist", texts], ["shouldNotExist", texts]),
  rivals: ["shouldExist", "shouldNotExist"],
};

export const configShape: Shape = shape(
  ["ignition", object(ignition)],
  ["kernelArguments", object(kernelArguments), 3],
  ["passwd", object(shape(["groups", keyed(group, "name")], ["users", keyed(user, "name")]))],
  ["storage", object(storage)],
  ["systemd", object(shape(["units", keyed(unit, "name")]))],
);

/** What has to be known before the rest can be read. */
export const versionShape: Shape = shape(["ignition", object(shape(["version", requiredText]))]);
