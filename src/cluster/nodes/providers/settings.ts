/** Settings of machines that workers' objects hold. Each provider uses some of them. */

const SETTINGS = ["machineType", "diskGb", "subnet", "image", "imageProject", "project"] as const;

export type Setting = (typeof SETTINGS)[number];

/** An empty one is not set. */
export type MachineShape = Readonly<Record<Setting, string>>;

/** One value for each setting. */
export function eachSetting<T>(make: (name: Setting) => T): Readonly<Record<Setting, T>> {
  return Object.fromEntries(SETTINGS.map((name) => [name, make(name)])) as Record<Setting, T>;
}

export const NO_SHAPE: MachineShape = eachSetting(() => "");
