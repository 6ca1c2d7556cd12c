/** Disks, RAID arrays, file systems and encrypted volumes. */

import { clevis, clevisCustom, type Decoded, disk, filesystem, luks, partition, raid, tang } from "../config.js";
import type { ConfigPlace } from "../problems.js";
import { pathObjection } from "./nodes.js";
import { takeApart } from "./resources.js";
import { rule } from "./rule.js";

/** A partition table holds 128 entries unless someone insists. */
const MOST_PARTITIONS = 1000;

function checkDisk({ device, partitions = [] }: Decoded<typeof disk>, place: ConfigPlace): void {
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

function overlapping(partitions: readonly Decoded<typeof partition>[]): number | undefined {
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

function checkPartition(entry: Decoded<typeof partition>, place: ConfigPlace): void {
  const { guid, label, number = 0, shouldExist, sizeMiB, startMiB, typeGuid } = entry;
  const described = label !== undefined || typeGuid || guid || startMiB !== undefined || sizeMiB !== undefined;
  if (shouldExist === false && described) place.error("a partition that should not exist cannot be described further");
  if (number === 0 && label === undefined) place.error("a partition needs a number from 1 on or a label");
  if (label !== undefined && Buffer.byteLength(label) > 36)
    place.error("a partition's label has at most 36 bytes", "label");
  else if (label?.includes(":")) place.error("a partition's label cannot hold a colon", "label");
  for (const member of ["guid", "typeGuid"] as const)
    if (!GUID.test(entry[member] ?? "")) place.error("the GUID is not written as one", member);
}

const WITHOUT_SPARES = new Set(["linear", "raid0", "0", "stripe"]);
const WITH_SPARES = new Set(["raid1", "1", "mirror", "raid4", "4", "raid5", "5", "raid6", "6", "raid10", "10"]);

function checkRaid({ level = "", devices, spares = 0 }: Decoded<typeof raid>, place: ConfigPlace): void {
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

function checkFilesystem(entry: Decoded<typeof filesystem>, place: ConfigPlace): void {
  const { device, path, format = "", label = "" } = entry;
  if (path) place.error(pathObjection(path), "path");
  place.error(pathObjection(device), "device");
  if (format === "") {
    const { uuid, wipeFilesystem, options, mountOptions } = entry;
    if (path || label || uuid || wipeFilesystem || options || mountOptions)
      place.error("a file system that is described needs a format", "format");
  } else if (!LABEL_LENGTHS.has(format) && !(format === "none" && place.minor >= 3)) {
    place.error(`the format is none that spec 3.${place.minor}.0 knows`, "format");
  }
  if (label === "") return;
  const longest = LABEL_LENGTHS.get(format);
  if (format === "") place.error("a label needs a format", "label");
  else if (longest !== undefined && Buffer.byteLength(label) > longest)
    place.error(`a label of ${format} has at most ${longest} bytes`, "label");
}

function checkLuks(entry: Decoded<typeof luks>, place: ConfigPlace): void {
  const { name, label = "", device = "", clevis: pins, keyFile, cex } = entry;
  if (name.includes("/")) place.error("a volume's name cannot hold a slash", "name");
  if (Buffer.byteLength(label) > 47) place.error("a volume's label has at most 47 bytes", "label");
  place.error(device === "" ? "a volume needs a device" : pathObjection(device), "device");
  if (cex?.enabled !== true) return;
  if (pins && (pins.custom?.pin || hasPins(pins))) place.error("cex and clevis exclude each other", "cex");
  if (keyFile?.source) place.error("cex and a key file exclude each other", "cex");
}

const hasPins = ({ tang, tpm2, threshold = 0 }: Decoded<typeof clevis>): boolean =>
  tang !== undefined || tpm2 === true || threshold !== 0;

function checkClevis(pins: Decoded<typeof clevis>, place: ConfigPlace): void {
  const { custom } = pins;
  // Before 3.3 an empty custom object counted as one.
  const isCustom = place.minor >= 3 ? !!custom?.pin : custom !== undefined;
  if (isCustom && hasPins(pins)) place.error("a custom pin excludes tang, tpm2 and threshold");
}

function checkCustom(entry: Decoded<typeof clevisCustom>, place: ConfigPlace): void {
  const { pin = "", config = "", needsNetwork } = entry;
  if (pin === "" && config === "" && (place.minor < 3 || needsNetwork !== true)) return;
  if (pin === "") place.error("a custom configuration needs a pin", "pin");
  else if (!["tpm2", "tang", "sss"].includes(pin)) place.error("the pin is not known", "pin");
  if (config === "") place.error("a custom pin needs a configuration", "config");
}

function checkTang({ url, thumbprint, advertisement }: Decoded<typeof tang>, place: ConfigPlace): void {
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

export const deviceRules = [
  rule(disk, checkDisk),
  rule(partition, checkPartition),
  rule(raid, checkRaid),
  rule(filesystem, checkFilesystem),
  rule(luks, checkLuks),
  rule(clevis, checkClevis),
  rule(clevisCustom, checkCustom),
  rule(tang, checkTang),
];
