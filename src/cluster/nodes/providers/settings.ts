/** Settings of machines that workers' objects hold. Each provider uses some of them. */

/** By their names in objects: those of flags and of placeholders in commands. */
const SETTINGS = {
  machineType: "machine-type",
  diskGb: "disk",
  diskType: "disk-type",
  network: "network",
  subnet: "subnet",
  tags: "tags",
  labels: "labels",
  serviceAccount: "service-account",
  scopes: "scopes",
  image: "image",
  imageProject: "image-project",
  project: "project",
  memoryMib: "memory",
  vcpus: "vcpus",
  storagePool: "storage-pool",
} as const;

export type Setting = keyof typeof SETTINGS;

export const ALL_SETTINGS = Object.keys(SETTINGS) as readonly Setting[];

/** Without the dashes in front. */
export const settingFlag = (setting: Setting): string => SETTINGS[setting];

/** An empty one is not set. */
export type MachineShape = Readonly<Record<Setting, string>>;

/** One value for each setting. */
export function eachSetting<T>(make: (name: Setting) => T): Readonly<Record<Setting, T>> {
  return Object.fromEntries(ALL_SETTINGS.map((name) => [name, make(name)])) as Record<Setting, T>;
}

export const NO_SHAPE: MachineShape = eachSetting(() => "");
