/** Disks, RAID arrays and file systems. */
import type { Problems } from "../finding.js";
import type { JsonPath } from "../json-path.js";
import type { Disk, Filesystem, Partition, Raid, Storage } from "../model/config.js";
import type { Minor } from "../model/spec.js";
import { pathObjection } from "./paths.js";

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
