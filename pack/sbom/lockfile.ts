/** What npm installs with our package, read from package-lock.json. */
export interface LockedPackage {
  readonly version: string;
  readonly license?: string;
  /** As npm writes it: algorithm, a hyphen, base64. */
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export interface Lockfile {
  /** By the folder each is installed into; ours has the empty name. */
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

export interface Installed {
  readonly name: string;
  readonly locked: LockedPackage;
  /** Folders of what it depends on. */
  readonly dependsOn: readonly string[];
}

const MODULES = "node_modules/";

/** Without what only development needs. */
export function installedWithUs(lockfile: Lockfile): Map<string, Installed> {
  return new Map([...allPackages(lockfile)].filter(([, { locked }]) => !locked.dev && !locked.devOptional));
}

/** By folder. */
export function allPackages({ packages }: Lockfile): Map<string, Installed> {
  return new Map(
    Object.entries(packages).map(([folder, locked]) => {
      const names = Object.keys(locked.dependencies ?? {});
      const dependsOn = names.flatMap((name) => resolveFrom(folder, name, packages) ?? []);
      return [folder, { name: folder.slice(folder.lastIndexOf(MODULES) + MODULES.length), locked, dependsOn }];
    }),
  );
}

/** Where Node would find a package: beside, or in the nearest folder above. */
function resolveFrom(folder: string, name: string, packages: Lockfile["packages"]): string | undefined {
  for (let place = folder; ; place = place.slice(0, Math.max(0, place.lastIndexOf(`/${MODULES}`)))) {
    const candidate = `${place === "" ? "" : `${place}/`}${MODULES}${name}`;
    if (packages[candidate] !== undefined) return candidate;
    if (place === "") return undefined;
  }
}
