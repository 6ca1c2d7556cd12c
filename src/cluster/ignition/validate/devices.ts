/** Disks, RAID arrays and file systems. */

import type { Clevis, ClevisCustom, Disk, Filesystem, Luks, Minor, Partition, Raid, Storage, Tang } from "../config.js";
import type { ConfigPlace } from "../problems.js";
import { pathObjection } from "./nodes.js";
import { checkResource, takeApart } from "./resources.js";

export function checkDisks(storage: Storage, place: ConfigPlace, minor: Minor): void {
  for (const [disk, one] of place.entries("disks", storage.disks)) checkDisk(disk, one);
  for (const [raid, one] of place.entries("raid", storage.raid)) checkRaid(raid, one);
  const disks = new Map(storage.disks?.map((disk) => [disk.device, disk]));
  for (const [filesystem, one] of place.entries("filesystems", storage.filesystems)) {
    checkFilesystem(filesystem, one, minor);
    checkAgainstDisk(filesystem, disks.get(filesystem.device), one);
  }
}

/** A partition table holds 128 entries unless someone insists. */
const MOST_PARTITIONS = 1000;

function checkDisk({ device, partitions = [] }: Disk, place: ConfigPlace): void {
  for (const [partition, one] of place.entries("partitions", partitions)) checkPartition(partition, one);
  place.error(device === "" ? "a disk needs a device" : pathObjection(device), "device");
  if (device === "") return;
  if (partitions.length > MOST_PARTITIONS) {
    place.error(`no disk has more than ${MOST_PARTITIONS} partitions`, "partitions");
    return;
  }
  const numbers = partitions.map(({ number = 0 }) => number);
  const labels = partitions.map(({ label }) => label);
  const refuse = (index: number | undefined, message: string) => {
    if (index !== undefined) place.error(message, "partitions", index);
  };
  refuse(repeated(numbers, 0), "two partitions have this number");
  refuse(overlapping(partitions), "the partition overlaps another");
  if (numbers.includes(0) && partitions.some(({ shouldExist }) => shouldExist === false))
    place.error("partitions without a number cannot be combined with partitions that should not exist", "partitions");
  refuse(repeated(labels, undefined), "two partitions have this label");
}

/** The position of the first value that occurred before; `any` may occur often. */
function repeated<T>(values: readonly T[], any: T): number | undefined {
  const seen = new Set<T>();
  const index = values.findIndex((value) => (value !== any && seen.has(value)) || !seen.add(value));
  return index === -1 ? undefined : index;
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

function checkPartition(partition: Partition, place: ConfigPlace): void {
  const { guid, label, number = 0, shouldExist, sizeMiB, startMiB, typeGuid } = partition;
  const described = label !== undefined || typeGuid || guid || startMiB !== undefined || sizeMiB !== undefined;
  if (shouldExist === false && described) place.error("a partition that should not exist cannot be described further");
  if (number === 0 && label === undefined) place.error("a partition needs a number from 1 on or a label");
  if (label !== undefined && Buffer.byteLength(label) > 36)
    place.error("a partition's label has at most 36 bytes", "label");
  else if (label?.includes(":")) place.error("a partition's label cannot hold a colon", "label");
  for (const member of ["guid", "typeGuid"] as const)
    if (!GUID.test(partition[member] ?? "")) place.error("the GUID is not written as one", member);
}

const WITHOUT_SPARES = new Set(["linear", "raid0", "0", "stripe"]);
const WITH_SPARES = new Set(["raid1", "1", "mirror", "raid4", "4", "raid5", "5", "raid6", "6", "raid10", "10"]);

function checkRaid({ level = "", devices, spares = 0 }: Raid, place: ConfigPlace): void {
  if (level === "") place.error("an array needs a level", "level");
  else if (WITHOUT_SPARES.has(level)) {
    if (spares !== 0) place.error("an array of this level has no spares", "level");
  } else if (!WITH_SPARES.has(level)) place.error("the level is not known", "level");
  if (devices === undefined) place.error("an array needs devices", "devices");
  for (const [device, one] of place.entries("devices", devices)) one.error(pathObjection(device));
}

/** Bytes a label may have; formats that are not here take any. */
const LABEL_LENGTHS = new Map([
  ["ext4", 16],
  ["btrfs", 256],
  ["xfs", 12],
  ["swap", 15],
  ["vfat", 11],
]);

function checkFilesystem(filesystem: Filesystem, place: ConfigPlace, minor: Minor): void {
  const { device, path, format = "", label = "" } = filesystem;
  if (path) place.error(pathObjection(path), "path");
  place.error(pathObjection(device), "device");
  if (format === "") {
    const { uuid, wipeFilesystem, options, mountOptions } = filesystem;
    if (path || label || uuid || wipeFilesystem || options || mountOptions)
      place.error("a file system that is described needs a format", "format");
  } else if (!LABEL_LENGTHS.has(format) && !(format === "none" && minor >= 3)) {
    place.error(`the format is none that spec 3.${minor}.0 knows`, "format");
  }
  if (label === "") return;
  const longest = LABEL_LENGTHS.get(format);
  if (format === "") place.error("a label needs a format", "label");
  else if (longest !== undefined && Buffer.byteLength(label) > longest)
    place.error(`a label of ${format} has at most ${longest} bytes`, "label");
}

function checkAgainstDisk({ wipeFilesystem }: Filesystem, disk: Disk | undefined, place: ConfigPlace): void {
  if (disk?.partitions !== undefined) place.warning("the file system overwrites a disk with partitions", "device");
  else if (disk?.wipeTable === true && wipeFilesystem !== true)
    place.warning("the disk's table is wiped, and the file system with it", "device");
}

/** Encrypted volumes. */
export function checkVolumes({ luks }: Storage, place: ConfigPlace, minor: Minor): void {
  for (const [volume, one] of place.entries("luks", luks)) checkLuks(volume, one, minor);
}

function checkLuks(
  { name, label = "", device = "", clevis, keyFile, cex }: Luks,
  place: ConfigPlace,
  minor: Minor,
): void {
  if (name.includes("/")) place.error("a volume's name cannot hold a slash", "name");
  if (Buffer.byteLength(label) > 47) place.error("a volume's label has at most 47 bytes", "label");
  place.error(device === "" ? "a volume needs a device" : pathObjection(device), "device");
  if (clevis) checkClevis(clevis, place.at("clevis"), minor);
  if (keyFile) checkResource(keyFile, place.at("keyFile"), minor);
  if (cex?.enabled !== true) return;
  if (clevis && (clevis.custom?.pin || hasPins(clevis))) place.error("cex and clevis exclude each other", "cex");
  if (keyFile?.source) place.error("cex and a key file exclude each other", "cex");
}

const hasPins = ({ tang, tpm2, threshold = 0 }: Clevis): boolean =>
  tang !== undefined || tpm2 === true || threshold !== 0;

function checkClevis(clevis: Clevis, place: ConfigPlace, minor: Minor): void {
  const { custom, tang } = clevis;
  // Before 3.3 an empty custom object counted as one.
  const isCustom = minor >= 3 ? !!custom?.pin : custom !== undefined;
  if (isCustom && hasPins(clevis)) place.error("a custom pin excludes tang, tpm2 and threshold");
  if (custom) checkCustom(custom, place.at("custom"), minor);
  for (const [server, one] of place.entries("tang", tang)) checkTang(server, one);
}

function checkCustom({ pin = "", config = "", needsNetwork }: ClevisCustom, place: ConfigPlace, minor: Minor): void {
  if (pin === "" && config === "" && (minor < 3 || needsNetwork !== true)) return;
  if (pin === "") place.error("a custom configuration needs a pin", "pin");
  else if (!["tpm2", "tang", "sss"].includes(pin)) place.error("the pin is not known", "pin");
  if (config === "") place.error("a custom pin needs a configuration", "config");
}

function checkTang({ url, thumbprint, advertisement }: Tang, place: ConfigPlace): void {
  const scheme = takeApart(url)?.scheme;
  if (scheme !== "http" && scheme !== "https") place.error("a Tang server has an http or https URL", "url");
  if (!thumbprint) place.error("a Tang server needs its thumbprint", "thumbprint");
  if (advertisement && !isJson(advertisement)) place.error("the advertisement is not JSON", "advertisement");
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
