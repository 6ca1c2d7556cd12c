import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { onPath } from "../../peers/index.js";

/** Programs from Debian packages. Users other than root do not have the second folder on their PATH. */
export const program = (name: string): string | undefined =>
  onPath(name) ?? [`/usr/sbin/${name}`].find((path) => existsSync(path));

export function programPath(name: string): string {
  const path = program(name);
  if (path === undefined) throw new Error(`${name} is not installed`);
  return path;
}

/** A sentence for what is not installed. */
export function lacking(packages: string, ...names: readonly string[]): string | undefined {
  const missing = names.filter((name) => program(name) === undefined);
  return missing.length === 0
    ? undefined
    : `${missing.join(" and ")} cannot be found: install the Debian package${packages.includes(" ") ? "s" : ""} ${packages}`;
}

/** The first match in what the program says about itself, on either stream. */
export function saidVersion(name: string, flag: string, pattern: RegExp): string {
  const { stdout, stderr } = spawnSync(programPath(name), [flag], { encoding: "utf8" });
  return pattern.exec(`${stdout}${stderr}`)?.[1] ?? "unknown";
}
