import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { manPages } from "../image/app-layer.js";
import { buildImage } from "../image/image.js";
import { about, root } from "../image/project.js";
import { tar } from "../src/base/tar.js";
import { CHECKSUMS, writeChecksums } from "./checksums.js";
import { buildExecutable } from "./executable/build.js";
import { licencesOfExecutable } from "./licences.js";
import { sbom } from "./sbom/sbom.js";
import { packTarball } from "./tarball.js";

const stem = `${about.name}-${about.version}`;

/** What a folder of packed things contains. */
export const NAMES = {
  tarball: `${stem}.tgz`,
  executable: `${stem}-linux-x64`,
  licences: `${stem}-linux-x64.licences.txt`,
  man: `${stem}-man.tar.gz`,
  image: `${stem}-image.tar`,
  sbom: `${stem}.cdx.json`,
  checksums: CHECKSUMS,
} as const;

/** Makes every form drawbridge is shipped in; the folder has all of them or stays as it was. */
export async function pack(out: string, say: (line: string) => void): Promise<string[]> {
  const folder = resolve(out);
  refuseToOverwrite(folder);
  const unfinished = `${folder}.${process.pid}.new`;
  const at = (name: string) => join(unfinished, name);
  mkdirSync(unfinished, { recursive: true });
  try {
    say("npm package");
    await packTarball(unfinished);
    say("single executable");
    await buildExecutable(at(NAMES.executable), say);
    writeFileSync(at(NAMES.licences), await licencesOfExecutable(say));
    const pages = manPages(root).map(([name, content]) => ({ path: `man1/${name}`, mode: 0o644, content }));
    writeFileSync(at(NAMES.man), gzipSync(Buffer.concat([...tar(pages)])));
    say("image");
    const { components } = await buildImage({ out: at(NAMES.image), say });
    const lockfile = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
    writeFileSync(at(NAMES.sbom), sbom({ about, lockfile, image: components }));
    await writeChecksums(unfinished);
    rmSync(folder, { recursive: true, force: true });
    renameSync(unfinished, folder);
    return readdirSync(folder).map((name) => join(folder, name));
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** What was packed before may be replaced; anything else is somebody's. */
function refuseToOverwrite(folder: string): void {
  const there = statSync(folder, { throwIfNoEntry: false });
  if (there === undefined) return;
  const names = there.isDirectory() ? readdirSync(folder) : [];
  if (there.isDirectory() && (names.length === 0 || names.includes(CHECKSUMS))) return;
  throw new Error(`${folder} has other files in it: name an empty folder or one that does not exist yet.`);
}
