/** What was packed, installed as its users would. */
import { chownSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NAMES } from "../../pack/pack.js";
import { nodeExecutables } from "../support/lab/equipment.js";
import { Machine } from "../support/lab/node/machine.js";
import { must } from "../support/lab/run.js";
import type { Scope } from "../support/lab/scope.js";
import { createNamespace } from "../support/netns/index.js";
import type { Form } from "./pack-smoke.js";

/** The image's own user. */
export const NOBODY = 65532;

/** The npm package, in a folder that has nothing else. What npm had before it takes from its cache. */
export async function installTarball(scope: Scope, packed: string): Promise<Form> {
  const folder = newFolder(scope, "tarball");
  writeFileSync(join(folder, "package.json"), "{}\n");
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  await must(["npm", "install", "--prefer-offline", ...quiet, "--prefix", folder, join(packed, NAMES.tarball)], {
    timeoutMs: 120_000,
  });
  return {
    name: "tarball",
    folder,
    command: (program, ...args) => [join(folder, "node_modules", ".bin", program), ...args],
  };
}

/** The single executable, under its own name and the names of the others. */
export function installExecutable(scope: Scope, packed: string): Form {
  const folder = newFolder(scope, "executable");
  const file = join(folder, "drawbridge");
  copyFileSync(join(packed, NAMES.executable), file);
  for (const name of ["proxy-server", "proxy-agent", "konnectivity-socks5-proxy", "konnectivity-https-proxy"]) {
    symlinkSync("drawbridge", join(folder, name));
  }
  // As on a machine that has no Node.
  const command: Form["command"] = (program, ...args) => ["env", "-i", join(folder, program), ...args];
  return { name: "executable", folder, command };
}

/** The image, in a containerd that runs it with runc; no kubelet, and no network but loopback. */
export async function importImage(scope: Scope, packed: string, image: string): Promise<Form> {
  const folder = newFolder(scope, "image");
  chownSync(folder, NOBODY, NOBODY);
  const namespace = await createNamespace("pack");
  scope.defer(() => namespace.destroy());
  const machine = await Machine.start(scope, {
    name: "pack",
    netns: namespace.name,
    executables: nodeExecutables(),
    kubelet: () => ["sh", "-c", "'exec sleep infinity'"],
  });
  await machine.process.ready("containerd", 60_000, () => machine.ctr(["images", "ls"]).then(() => true));
  await machine.importImage(join(packed, NAMES.image));
  const mount = `type=bind,src=${folder},dst=${folder},options=rbind:rw`;
  let containers = 0;
  return {
    name: "image",
    folder,
    command: (program, ...args) =>
      machine.container(["--net-host", "--mount", mount], image, `pack-${++containers}`, [program, ...args]),
  };
}

function newFolder(scope: Scope, name: string): string {
  const folder = scope.file(name);
  mkdirSync(folder);
  return folder;
}
