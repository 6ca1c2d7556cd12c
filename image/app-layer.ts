import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { bundleOf, executables, launcher } from "../scripts/bundling.mjs";
import type { TarMember } from "../src/base/tar.js";
import { bundledPackages, type Component, describePackage, licenceTexts } from "./contents.js";
import { PATHS } from "./paths.js";
import type { About } from "./project.js";

/** The bundle, the live page and the executables, under the paths of upstream's images and of OpenShift's payload alike. */
export function appLayer(
  root: string,
  about: Omit<About, "description">,
): { entries: TarMember[]; components: Component[] } {
  const bundle = join(root, "dist", "bundle");
  if (!existsSync(join(bundle, "drawbridge.js"))) throw new Error("There is no dist/bundle yet: run npm run build.");
  const code = readdirSync(bundle).filter((name) => /\.c?js$/.test(name));
  const packages = bundledPackages(root).map((folder) => ({ folder, component: describePackage(folder) }));
  const { name, version, license } = about;
  // Says that what ends in .js is an ES module.
  const manifest = JSON.stringify({ name, version, license, type: "module" });
  const entries: TarMember[] = [
    { path: `${PATHS.home}/package.json`, mode: 0o644, content: Buffer.from(`${manifest}\n`) },
    ...code.map((name) => ({
      path: `${PATHS.home}/bundle/${name}`,
      mode: 0o644,
      content: readFileSync(join(bundle, name)),
    })),
    ...manPages(root).map(([name, content]) => ({ path: `${PATHS.man}/${name}`, mode: 0o644, content })),
    { path: `${PATHS.home}/page/index.html`, mode: 0o644, content: readFileSync(join(root, "dist/page/index.html")) },
    ...executables.flatMap(executable),
    { path: "bin/sh", mode: 0o755, content: readFileSync(new URL("./sh.cjs", import.meta.url)) },
    { path: `${PATHS.documents}/drawbridge/LICENSE`, mode: 0o644, content: readFileSync(join(root, "LICENSE")) },
    ...packages.flatMap(({ folder, component }) => licenceTexts(folder, component)),
  ];
  const itself: Component = { name, version, licence: license, from: "drawbridge" };
  return { entries, components: [itself, ...packages.map(({ component }) => component)] };
}

/** As `npm run build` has written them. */
export function manPages(root: string): [file: string, content: Buffer][] {
  const folder = join(root, "dist", "man");
  return readdirSync(folder)
    .toSorted()
    .map((name) => [name, readFileSync(join(folder, name))]);
}

/** There is no env in the image: Node is named as the interpreter. The root has upstream's path as a link. */
function executable(name: string): TarMember[] {
  const script = launcher("/usr/bin/node", `/${PATHS.home}/bundle/${bundleOf(name)}`);
  return [
    { path: `usr/bin/${name}`, mode: 0o755, content: Buffer.from(script) },
    { path: name, mode: 0o777, linkTo: `usr/bin/${name}` },
  ];
}
