/** Disks, RAID arrays and file systems. */

import type { Clevis, ClevisCustom, Disk, Filesystem, Luks, Minor, Partition, Raid, Storage, Tang } from "../config.js";
import type { JsonPath, Problems } from "../problems.js";
import { pathObjection } from "./nodes.js";
import { checkResource, takeApart } from "./resources.js";

export function checkDisks(storage: Storage, path: JsonPath, minor: Minor, problems: Problems): void {
  for (const [index, disk] of (storage.disks ?? []).entries()) checkDisk(disk, [...path, "disks", index], problems);
  for (const [index, raid] of (storage.raid ?? []).entries()) checkRaid(raid, [...path, "raid", index], problems);
  const disks = new Map(storage.disks?.map((disk) => [disk.device, disk]));
  for (const [index, filesystem] of (storage.filesystems ?? []).entries()) {
    const place = [...path, "filesystems", index];
    checkFilesystem(filesystem, place, minor, problems);
    checkAgainstDisk(filesystem, disks.get(filesystem.device), [...place, "device"], problems);
  }
}

/** A partition table holds 128 entries unless someone insists. */
const MOST_PARTITIONS = 1000;

function checkDisk({ device, partitions = [] }: Disk, path: JsonPath, problems: Problems): void {
  for (const [index, partition] of partitions.entries())
    checkPartition(partition, [...path, "partitions", index], problems);
  if (device === "") {
    problems.error([...path, "device"], "a disk needs a device");
    return;
  }
  problems.error([...path, "device"], pathObjection(device));
  if (partitions.length > MOST_PARTITIONS) {
    problems.error([...path, "partitions"], `no disk has more than ${MOST_PARTITIONS} partitions`);
    return;
  }
  const numbers = partitions.map(({ number = 0 }) => number);
  const labels = partitions.map(({ label }) => label);
  const at = (index: number) => [...path, "partitions", index];
  const [number] = repeated(numbers, 0);
  if (number !== undefined) problems.error(at(number), "two partitions have this number");
  const overlap = overlapping(partitions);
  if (overlap !== undefined) problems.error(at(overlap), "the partition overlaps another");
  if (numbers.includes(0) && partitions.some(({ shouldExist }) => shouldExist === false))
    problems.error(
      [...path, "partitions"],
      "partitions without a number cannot stand beside partitions that should not exist",
    );
  const [label] = repeated(labels, undefined);
  if (label !== undefined) problems.error(at(label), "two partitions have this label");
}

/** Positions of values that stood before; `any` may stand often. */
function repeated<T>(values: readonly T[], any: T): number[] {
  const seen = new Set<T>();
  return values.flatMap((value, index) => {
    if (value === any || !seen.has(value)) {
      seen.add(value);
      return [];
    }
    return [index];
  });
}

function overlapping(partitions: readonly Partition[]): number | undefined {
  const placed = partitions.flatMap(({ startMiB: start, sizeMiB: size }, index) =>
    start === undefined || size === undefined || start === 0
      ? []
      : [{ index, start, end: size === 0 ? start : start + size - 1 }],
  );
  for (const one of placed) {
    const other = placed.find(
      ({ index, start, end }) =>
        index !== one.index &&
        ((one.start >= start && one.start <= end) ||
          (one.end >= start && one.end <= end) ||
          (one.start < start && one.end > end)),
    );
    if (other !== undefined) return other.index;
  }
  return undefined;
}

const GUID = /^(?:|[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})$/;

function checkPartition(partition: Partition, path: JsonPath, problems: Problems): void {
  const { guid, label, number = 0, shouldExist, sizeMiB, startMiB, typeGuid } = partition;
  const described = label !== undefined || typeGuid || guid || startMiB !== undefined || sizeMiB !== undefined;
  if (shouldExist === false && described)
    problems.error(path, "a partition that should not exist cannot be described further");
  if (number === 0 && label === undefined) problems.error(path, "a partition needs a number from 1 on or a label");
  if (label !== undefined && Buffer.byteLength(label) > 36)
    problems.error([...path, "label"], "a partition's label has at most 36 bytes");
  else if (label?.includes(":")) problems.error([...path, "label"], "a partition's label cannot hold a colon");
  for (const [member, value] of [["guid", guid] as const, ["typeGuid", typeGuid] as const]) {
    if (value !== undefined && !GUID.test(value)) problems.error([...path, member], "the GUID is not written as one");
  }
}

const WITHOUT_SPARES = new Set(["linear", "raid0", "0", "stripe"]);
const WITH_SPARES = new Set(["raid1", "1", "mirror", "raid4", "4", "raid5", "5", "raid6", "6", "raid10", "10"]);

function checkRaid({ level = "", devices, spares = 0 }: Raid, path: JsonPath, problems: Problems): void {
  const place = [...path, "level"];
  if (level === "") problems.error(place, "an array needs a level");
  else if (WITHOUT_SPARES.has(level)) {
    if (spares !== 0) problems.error(place, "an array of this level has no spares");
  } else if (!WITH_SPARES.has(level)) problems.error(place, "the level is not known");
  if (devices === undefined) problems.error([...path, "devices"], "an array needs devices");
  for (const [index, device] of (devices ?? []).entries())
    problems.error([...path, "devices", index], pathObjection(device));
}

/** Bytes a label may have; formats that are not here take any. */
const LABEL_LENGTHS = new Map([
  ["ext4", 16],
  ["btrfs", 256],
  ["xfs", 12],
  ["swap", 15],
  ["vfat", 11],
]);

function checkFilesystem(filesystem: Filesystem, path: JsonPath, minor: Minor, problems: Problems): void {
  const { device, format = "", label = "" } = filesystem;
  if (filesystem.path) problems.error([...path, "path"], pathObjection(filesystem.path));
  problems.error([...path, "device"], pathObjection(device));
  if (format === "") {
    const { uuid, wipeFilesystem, options, mountOptions } = filesystem;
    if (filesystem.path || label || uuid || wipeFilesystem || options || mountOptions)
      problems.error([...path, "format"], "a file system that is described needs a format");
  } else if (!LABEL_LENGTHS.has(format) && !(format === "none" && minor >= 3)) {
    problems.error([...path, "format"], `the format is none that spec 3.${minor}.0 knows`);
  }
  if (label === "") return;
  const longest = LABEL_LENGTHS.get(format);
  if (format === "") problems.error([...path, "label"], "a label needs a format");
  else if (longest !== undefined && Buffer.byteLength(label) > longest)
    problems.error([...path, "label"], `a label of ${format} has at most ${longest} bytes`);
}

function checkAgainstDisk({ wipeFilesystem }: Filesystem, disk: Disk | undefined, path: JsonPath, problems: Problems) {
  if (disk?.partitions !== undefined) problems.warning(path, "the file system overwrites a disk with partitions");
  else if (disk?.wipeTable === true && wipeFilesystem !== true)
    problems.warning(path, "the disk's table is wiped, and the file system with it");
}

// Encrypted volumes.

export function checkVolumes({ luks = [] }: Storage, path: JsonPath, minor: Minor, problems: Problems): void {
  for (const [index, volume] of luks.entries()) checkLuks(volume, [...path, "luks", index], minor, problems);
}

function checkLuks(luks: Luks, path: JsonPath, minor: Minor, problems: Problems): void {
  const { name, label = "", device = "", clevis, keyFile, cex } = luks;
  if (name.includes("/")) problems.error([...path, "name"], "a volume's name cannot hold a slash");
  if (Buffer.byteLength(label) > 47) problems.error([...path, "label"], "a volume's label has at most 47 bytes");
  problems.error([...path, "device"], device === "" ? "a volume needs a device" : pathObjection(device));
  if (clevis) checkClevis(clevis, [...path, "clevis"], minor, problems);
  const key = keyFile?.source ?? "";
  if (keyFile) checkResource(keyFile, [...path, "keyFile"], minor, problems);
  if (cex?.enabled !== true) return;
  if (clevis && isUsed(clevis)) problems.error([...path, "cex"], "cex and clevis exclude each other");
  if (key !== "") problems.error([...path, "cex"], "cex and a key file exclude each other");
}

const isUsed = (clevis: Clevis): boolean => !!clevis.custom?.pin || hasPins(clevis);

const hasPins = ({ tang, tpm2, threshold = 0 }: Clevis): boolean =>
  tang !== undefined || tpm2 === true || threshold !== 0;

function checkClevis(clevis: Clevis, path: JsonPath, minor: Minor, problems: Problems): void {
  const { custom, tang = [] } = clevis;
  // Before 3.3 an empty custom object counted as one.
  const isCustom = minor >= 3 ? !!custom?.pin : custom !== undefined;
  if (isCustom && hasPins(clevis)) problems.error(path, "a custom pin excludes tang, tpm2 and threshold");
  if (custom) checkCustom(custom, [...path, "custom"], minor, problems);
  for (const [index, server] of tang.entries()) checkTang(server, [...path, "tang", index], problems);
}

function checkCustom(custom: ClevisCustom, path: JsonPath, minor: Minor, problems: Problems): void {
  const { pin = "", config = "", needsNetwork } = custom;
  if (pin === "" && config === "" && (minor < 3 || needsNetwork !== true)) return;
  if (pin === "") problems.error([...path, "pin"], "a custom configuration needs a pin");
  else if (!["tpm2", "tang", "sss"].includes(pin)) problems.error([...path, "pin"], "the pin is not known");
  if (config === "") problems.error([...path, "config"], "a custom pin needs a configuration");
}

function checkTang({ url, thumbprint, advertisement }: Tang, path: JsonPath, problems: Problems): void {
  const scheme = takeApart(url)?.scheme;
  if (scheme !== "http" && scheme !== "https")
    problems.error([...path, "url"], "a Tang server has an http or https URL");
  if (!thumbprint) problems.error([...path, "thumbprint"], "a Tang server needs its thumbprint");
  if (advertisement && !isJson(advertisement))
    problems.error([...path, "advertisement"], "the advertisement is not JSON");
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
