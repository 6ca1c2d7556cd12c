import { type Rule, storage } from "./rule.js";

const partitions = (...list: object[]) => storage({ disks: [{ device: "/dev/a", partitions: list }] });
const raid = (fields: object) => storage({ raid: [{ name: "r", level: "1", devices: ["/dev/a"], ...fields }] });
const filesystem = (fields: object) => storage({ filesystems: [{ device: "/dev/a", ...fields }] });
const luks = (fields: object) => storage({ luks: [{ name: "v", device: "/dev/a", ...fields }] });
const clevis = (fields: object) => luks({ clevis: fields });
const tang = { url: "http://t.example", thumbprint: "x" };

export const diskRules: readonly Rule[] = [
  {
    rule: "disks have a device, once",
    accept: [storage({ disks: [{ device: "/dev/a" }, { device: "/dev/b" }] })],
    reject: [
      storage({ disks: [{}] }),
      storage({ disks: [{ device: "dev" }] }),
      storage({ disks: [{ device: "/dev/a" }, { device: "/dev/a" }] }),
    ],
  },
  {
    rule: "partitions have a number or a label, once",
    accept: [
      partitions({ number: 1 }, { number: 2, label: "b" }),
      partitions({ label: "a" }, { label: "b" }),
      partitions({ label: "" }),
      partitions({ number: 0, label: "a" }),
    ],
    reject: [
      partitions({}),
      partitions({ number: 0 }),
      partitions({ number: 1 }, { number: 1 }),
      partitions({ label: "a" }, { label: "a" }),
      partitions({ number: 1, label: "a" }, { number: 2, label: "a" }),
      partitions({ number: 1, label: "a" }, { label: "a" }),
    ],
  },
  {
    rule: "partition labels have at most 36 bytes and no colon, GUIDs their form",
    accept: [
      partitions({ label: "x".repeat(36) }),
      partitions({ number: 1, guid: "01234567-89ab-CDEF-EDCB-A98765432101", typeGuid: "" }),
    ],
    reject: [
      partitions({ label: "x".repeat(37) }),
      partitions({ label: "\u00fc".repeat(19) }),
      partitions({ label: "a:b" }),
      partitions({ number: 1, guid: "x" }),
      partitions({ number: 1, typeGuid: "01234567-89AB-CDEF-EDCB-A98765432101-" }),
    ],
  },
  {
    rule: "partitions do not overlap",
    accept: [
      partitions({ number: 1, startMiB: 1, sizeMiB: 10 }, { number: 2, startMiB: 11, sizeMiB: 10 }),
      partitions({ number: 1, startMiB: 0, sizeMiB: 10 }, { number: 2, startMiB: 5, sizeMiB: 10 }),
      partitions({ number: 1, startMiB: 1 }, { number: 2, startMiB: 1 }),
    ],
    reject: [
      partitions({ number: 1, startMiB: 1, sizeMiB: 10 }, { number: 2, startMiB: 10, sizeMiB: 10 }),
      partitions({ number: 1, startMiB: 5, sizeMiB: 0 }, { number: 2, startMiB: 1, sizeMiB: 10 }),
      partitions({ number: 1, startMiB: 1, sizeMiB: 100 }, { number: 2, startMiB: 10, sizeMiB: 10 }),
      partitions({ number: 1, startMiB: 7, sizeMiB: 0 }, { number: 2, startMiB: 7, sizeMiB: 0 }),
    ],
  },
  {
    rule: "partitions that should not exist are not described and stand beside numbered ones only",
    accept: [partitions({ number: 1, shouldExist: false, guid: "" }, { number: 2 })],
    reject: [
      partitions({ number: 1, shouldExist: false, label: "a" }),
      partitions({ number: 1, shouldExist: false, sizeMiB: 0 }),
      partitions({ number: 1, shouldExist: false }, { label: "a" }),
    ],
  },
  {
    rule: "arrays have a known level, devices, and spares where the level has them",
    accept: [
      raid({}),
      raid({ level: "raid10", spares: 1 }),
      raid({ level: "linear" }),
      raid({ level: "stripe", spares: 0 }),
      raid({ options: ["-a", "-a"] }),
    ],
    reject: [
      raid({ level: "raid7" }),
      raid({ level: "" }),
      raid({ level: null }),
      raid({ level: "raid0", spares: 1 }),
      raid({ devices: [] }),
      raid({ devices: ["a"] }),
      raid({ devices: ["/dev/a", "/dev/a"] }),
      storage({
        raid: [
          { name: "r", level: "1", devices: ["/dev/a"] },
          { name: "r", level: "1", devices: ["/dev/b"] },
        ],
      }),
    ],
  },
  {
    rule: "file systems have a device, and a format when they are described",
    accept: [
      filesystem({}),
      filesystem({ format: "ext4", path: "/var", wipeFilesystem: true }),
      filesystem({ format: "none" }),
      filesystem({ format: "", path: "" }),
      filesystem({ format: "xfs", options: ["-a", "-a"], mountOptions: ["ro", "ro"] }),
      storage({ disks: [{ device: "/dev/a", wipeTable: true }], filesystems: [{ device: "/dev/a", format: "xfs" }] }),
      storage({
        disks: [{ device: "/dev/a", partitions: [{ number: 1 }] }],
        filesystems: [{ device: "/dev/a", format: "xfs" }],
      }),
    ],
    reject: [
      storage({ filesystems: [{}] }),
      filesystem({ device: "a" }),
      filesystem({ format: "zfs" }),
      filesystem({ path: "/var" }),
      filesystem({ label: "a" }),
      filesystem({ wipeFilesystem: true }),
      filesystem({ options: ["a"] }),
      filesystem({ mountOptions: ["a"] }),
      filesystem({ uuid: "a" }),
      filesystem({ format: "ext4", path: "var" }),
      storage({ filesystems: [{ device: "/dev/a" }, { device: "/dev/a" }] }),
    ],
  },
  {
    rule: "file system labels fit their format",
    accept: [
      filesystem({ format: "ext4", label: "x".repeat(16) }),
      filesystem({ format: "btrfs", label: "x".repeat(256) }),
      filesystem({ format: "xfs", label: "x".repeat(12) }),
      filesystem({ format: "swap", label: "x".repeat(15) }),
      filesystem({ format: "vfat", label: "x".repeat(11) }),
    ],
    reject: [
      filesystem({ format: "ext4", label: "x".repeat(17) }),
      filesystem({ format: "btrfs", label: "x".repeat(257) }),
      filesystem({ format: "xfs", label: "x".repeat(13) }),
      filesystem({ format: "swap", label: "x".repeat(16) }),
      filesystem({ format: "vfat", label: "\u00fc".repeat(6) }),
    ],
  },
  {
    rule: "volumes have a device, a name without slash and a label that fits",
    accept: [
      luks({}),
      luks({ label: "x".repeat(47), options: ["-a", "-a"] }),
      luks({ openOptions: ["a", "b"], discard: true }),
    ],
    reject: [
      storage({ luks: [{ name: "v" }] }),
      luks({ device: "a" }),
      luks({ name: "a/b" }),
      luks({ label: "x".repeat(48) }),
      luks({ openOptions: ["a", "a"] }),
      luks({ keyFile: { source: "x" } }),
      luks({ keyFile: { source: "data:,a", compression: "x" } }),
      storage({
        luks: [
          { name: "v", device: "/dev/a" },
          { name: "v", device: "/dev/b" },
        ],
      }),
    ],
  },
  {
    rule: "clevis pins are known, complete and alone when custom",
    accept: [
      clevis({ tpm2: true, threshold: 2, tang: [tang] }),
      clevis({ custom: { pin: "sss", config: "{}", needsNetwork: true } }),
      clevis({ custom: {} }),
      clevis({ custom: {}, tpm2: false, threshold: 0 }),
      clevis({ custom: { needsNetwork: false } }),
    ],
    reject: [
      clevis({ custom: { pin: "own", config: "{}" } }),
      clevis({ custom: { pin: "tang" } }),
      clevis({ custom: { config: "{}" } }),
      clevis({ custom: { needsNetwork: true } }),
      clevis({ custom: { pin: "tang", config: "{}" }, tpm2: true }),
      clevis({ custom: { pin: "tang", config: "{}" }, tang: [tang] }),
      clevis({ custom: { pin: "tang", config: "{}" }, threshold: 1 }),
    ],
  },
  {
    rule: "an empty custom pin beside others was refused before 3.3",
    accept: [clevis({ custom: {}, tpm2: true })],
    reject: [clevis({ custom: { pin: "tpm2", config: "{}" }, tpm2: true })],
  },
  {
    rule: "Tang servers have an http URL, a thumbprint and a JSON advertisement",
    accept: [
      clevis({
        tang: [
          { ...tang, advertisement: '{"a":1}' },
          { ...tang, url: "https://u.example", advertisement: "" },
        ],
      }),
    ],
    reject: [
      clevis({ tang: [{ thumbprint: "x" }] }),
      clevis({ tang: [{ ...tang, url: "t.example" }] }),
      clevis({ tang: [{ ...tang, thumbprint: "" }] }),
      clevis({ tang: [{ url: "http://t.example" }] }),
      clevis({ tang: [{ ...tang, advertisement: "{" }] }),
      clevis({ tang: [tang, tang] }),
    ],
  },
  {
    rule: "cex excludes clevis and key files",
    accept: [luks({ cex: { enabled: true } }), luks({ cex: { enabled: false }, clevis: { tpm2: true } })],
    reject: [
      luks({ cex: { enabled: true }, clevis: { tpm2: true } }),
      luks({ cex: { enabled: true }, clevis: { threshold: 1 } }),
      luks({ cex: { enabled: true }, keyFile: { source: "data:,a" } }),
    ],
  },
];
