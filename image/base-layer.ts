import type { TarMember } from "../src/base/tar.js";
import type { Component } from "./contents.js";
import { fetchPackage, requireDebian } from "./debian.js";
import { copyrightOf, libraryEntries } from "./libraries.js";
import { fetchNode } from "./node-binary.js";
import { PATHS } from "./paths.js";
import { LIBRARY_PACKAGES, NODE } from "./pins.js";

export const USER = 65532;

/** What a system has to have for Node to run: Node, its libraries, and the few files that the C library asks for. */
export async function baseLayer(
  say: (line: string) => void,
): Promise<{ entries: TarMember[]; components: Component[] }> {
  await requireDebian();
  const node = await fetchNode(say);
  const packages = [];
  for (const name of Object.keys(LIBRARY_PACKAGES)) packages.push(await fetchPackage(name, say));
  const copyrights = [];
  for (const one of packages) copyrights.push(await copyrightOf(one, say));
  const entries = [
    { path: "usr/bin/node", mode: 0o755, content: node.executable },
    { path: `${PATHS.documents}/node/LICENSE`, mode: 0o644, content: node.licenceText },
    ...libraryEntries(node.executable, packages),
    ...copyrights,
    ...systemEntries(),
  ];
  const libraries = packages.map(
    ({ name, version }): Component => ({ name, version, licence: LIBRARY_PACKAGES[name] ?? "", from: "debian" }),
  );
  const runtime: Component = { name: NODE.package, version: NODE.version, licence: NODE.licence, from: "npm" };
  return { entries, components: [runtime, ...libraries] };
}

function systemEntries(): TarMember[] {
  const text = (path: string, content: string): TarMember => ({ path, mode: 0o644, content: Buffer.from(content) });
  return [
    text("etc/passwd", `root:x:0:0:root:/root:/nologin\nnonroot:x:${USER}:${USER}:nonroot:/home/nonroot:/nologin\n`),
    text("etc/group", `root:x:0:\nnonroot:x:${USER}:\n`),
    // Without it the C library asks DNS before it looks into /etc/hosts, where kubelets write.
    text("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
    { path: "root/", mode: 0o700 },
    { path: "home/nonroot/", mode: 0o755 },
    { path: "tmp/", mode: 0o1777 },
  ];
}
