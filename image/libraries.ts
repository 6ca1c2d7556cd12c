import { existsSync, lstatSync, readFileSync, readlinkSync } from "node:fs";
import { basename, join } from "node:path";
import type { TarMember } from "../src/base/tar.js";
import { type DebianPackage, fetchPackage } from "./debian.js";
import { neededLibraries } from "./elf.js";
import { PATHS } from "./paths.js";

/** Where the C library's loader looks, and where packages put their libraries. */
const TRIPLET = "x86_64-linux-gnu";
const LIBRARY_FOLDERS = [`lib/${TRIPLET}`, `usr/lib/${TRIPLET}`];
const LOADER = "ld-linux-x86-64.so.2";

/** The libraries an executable needs, and those that they need, each as one plain file where the loader looks for it. */
export function libraryEntries(executable: Buffer, packages: readonly DebianPackage[]): TarMember[] {
  const found = new Map<string, TarMember>();
  const wanted = neededLibraries(executable);
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    if (found.has(name)) continue;
    const content = readLibrary(name, packages);
    found.set(name, { path: `lib/${TRIPLET}/${name}`, mode: 0o755, content });
    wanted.push(...neededLibraries(content));
  }
  // The kernel starts the loader by this path, which stands in every executable.
  const loader: TarMember = { path: `lib64/${LOADER}`, mode: 0o777, linkTo: `../lib/${TRIPLET}/${LOADER}` };
  return [...found.values(), ...(found.has(LOADER) ? [loader] : [])];
}

function readLibrary(name: string, packages: readonly DebianPackage[]): Buffer {
  for (const { folder } of packages) {
    for (const place of LIBRARY_FOLDERS) {
      const path = join(folder, place, name);
      if (existsSync(path)) return readFileSync(path);
    }
  }
  const names = packages.map((one) => one.name).join(", ");
  throw new Error(`Node needs ${name}, which none of ${names} brings: add its package to image/pins.ts.`);
}

/** The copyright file of a package; some packages keep it in another one, and say in which by a link. */
export async function copyrightOf(one: DebianPackage, say: (line: string) => void): Promise<TarMember> {
  const folder = join(one.folder, PATHS.documents, one.name);
  const isElsewhere = lstatSync(folder).isSymbolicLink();
  const keeper = isElsewhere ? await fetchPackage(basename(readlinkSync(folder)), say) : one;
  const content = readFileSync(join(keeper.folder, PATHS.documents, keeper.name, "copyright"));
  return { path: `${PATHS.documents}/${one.name}/copyright`, mode: 0o644, content };
}
