import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PATHS } from "./paths.js";
import type { Entry } from "./tar.js";

/** One thing the image contains that has a name, a version and a licence of its own. */
export interface Component {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly from: "drawbridge" | "npm" | "debian";
}

/** The npm packages that ended up in the bundle: its source maps name every file it was made from. */
export function bundledPackages(bundleFolder: string): string[] {
  const folders = new Set<string>();
  for (const name of readdirSync(bundleFolder).filter((file) => file.endsWith(".js.map"))) {
    const { sources } = JSON.parse(readFileSync(join(bundleFolder, name), "utf8")) as { sources: string[] };
    for (const source of sources) {
      const [, folder] = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(source) ?? [];
      if (folder !== undefined) folders.add(join(bundleFolder, folder));
    }
  }
  return [...folders].sort();
}

export function describePackage(folder: string): Component {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    name: string;
    version: string;
    license?: string;
  };
  if (license === undefined) throw new Error(`${name} ${version} is in the bundle, but names no licence.`);
  return { name, version, licence: license, from: "npm" };
}

/** Licences ask that their text goes where the code goes. */
export function licenceTexts(folder: string, { name, version }: Component): Entry[] {
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  return files.map((file) => ({
    path: `${PATHS.documents}/drawbridge/npm/${name.replace("/", "+")}@${version}/${file}`,
    mode: 0o644,
    content: readFileSync(join(folder, file)),
  }));
}
