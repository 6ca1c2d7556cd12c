import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder, shelve } from "./cache.js";
import { command } from "./command.js";
import { NODE } from "./pins.js";

export interface NodeBinary {
  readonly path: string;
  readonly executable: Buffer;
  readonly licenceText: Buffer;
}

/** Node itself, from the npm package that carries its binary, installed once into the cache. */
export async function fetchNode(say: (line: string) => void): Promise<NodeBinary> {
  const prefix = join(cacheFolder(), `node-${NODE.version}`);
  const folder = join(prefix, "node_modules", NODE.package);
  const path = join(folder, "bin", "node");
  if (!existsSync(path)) await install(prefix, path, say);
  checkIntegrity(prefix);
  return {
    path,
    executable: readFileSync(path),
    licenceText: readFileSync(join(folder, "LICENSE")),
  };
}

/** Beside its place first: whoever looks there sees all of it or nothing. */
async function install(prefix: string, path: string, say: (line: string) => void): Promise<void> {
  say(`installing ${NODE.package} ${NODE.version} into the cache`);
  mkdirSync(cacheFolder(), { recursive: true });
  const desk = mkdtempSync(join(cacheFolder(), "new-node-"));
  try {
    const quiet = ["--silent", "--no-audit", "--no-fund"];
    const { code, stderr } = await command("npm", [
      ...["install", ...quiet, "--prefix", desk, `${NODE.package}@${NODE.version}`],
    ]);
    if (code !== 0) {
      throw new Error(
        `npm could not install ${NODE.package} ${NODE.version}; check npm's registry: ${lastLine(stderr)}`,
      );
    }
    // What an installation left that was cut short.
    if (!existsSync(path)) rmSync(prefix, { recursive: true, force: true });
    shelve(desk, prefix);
  } finally {
    rmSync(desk, { recursive: true, force: true });
  }
}

function checkIntegrity(prefix: string): void {
  const lock = JSON.parse(readFileSync(join(prefix, "node_modules", ".package-lock.json"), "utf8")) as {
    packages: Record<string, { version?: string; integrity?: string }>;
  };
  const { version, integrity } = lock.packages[`node_modules/${NODE.package}`] ?? {};
  if (version === NODE.version && integrity === NODE.integrity) return;
  throw new Error(`The Node in ${prefix} is not the pinned ${NODE.version}; remove that folder and run this again.`);
}

const lastLine = (text: string): string => text.trim().split("\n").at(-1) ?? "";
