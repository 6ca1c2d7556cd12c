import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TarMember } from "../src/base/tar.js";
import { PATHS } from "./paths.js";

/** One thing the image contains that has a name, a version and a licence of its own. */
export interface Component {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly from: "drawbridge" | "npm" | "debian";
}

/** The npm packages that ended up in the bundle and in the live page: source maps name every file these were made from. */
export function bundledPackages(root: string): string[] {
  const folders = ["bundle", "page"].flatMap((name) => packagesIn(join(root, "dist", name)));
  return [...new Set(folders)].sort();
}

function packagesIn(folder: string): string[] {
  const maps = readdirSync(folder).filter((file) => /\.c?js\.map$/.test(file));
  return maps.flatMap((name) => {
    const { sources } = JSON.parse(readFileSync(join(folder, name), "utf8")) as { sources: string[] };
    return sources.flatMap((source) => {
      const [, place] = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(source) ?? [];
      return place === undefined ? [] : [join(folder, place)];
    });
  });
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
export function licenceTexts(folder: string, { name, version }: Component): TarMember[] {
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  return files.map((file) => ({
    path: `${PATHS.documents}/drawbridge/npm/${name.replace("/", "+")}@${version}/${file}`,
    mode: 0o644,
    content: readFileSync(join(folder, file)),
  }));
}
