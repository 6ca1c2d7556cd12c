import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuiltPeer, type GoPeer, isCrate, linkerFlags } from "./catalogue.js";

const here = fileURLToPath(new URL(".", import.meta.url));

export function cacheFolder(): string {
  const base = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  return join(base, "drawbridge", "peers");
}

export const moduleFolder = (peer: GoPeer): string => join(here, peer.folder);
export const executablePath = (peer: BuiltPeer): string => join(cacheFolder(), peer.name);
export const stampPath = (peer: BuiltPeer): string => join(cacheFolder(), ".stamps", `${peer.name}.json`);

/** The version that the catalogue or our go.mod pins. */
export function pinnedVersion(peer: BuiltPeer): string {
  if (isCrate(peer)) return `v${peer.version}`;
  const text = readFileSync(join(moduleFolder(peer), "go.mod"), "utf8");
  for (const line of text.split("\n")) {
    const [first, second, third] = line.trim().split(/\s+/);
    const [path, version] = first === "require" ? [second, third] : [first, second];
    if (path === peer.module && version?.startsWith("v")) return version;
    if (path === peer.module && path === "go") return `v${version}`;
  }
  throw new Error(`peers/${peer.folder}/go.mod pins no version of ${peer.module}; add it with go get`);
}

/** Everything an executable depends on, as text: an equal stamp means an equal build. */
export function wantedStamp(peer: BuiltPeer): string {
  if (isCrate(peer)) return `${JSON.stringify({ crate: `${peer.crate}@${peer.version}` }, null, 2)}\n`;
  const folder = moduleFolder(peer);
  const version = pinnedVersion(peer);
  const stamp = {
    module: `${peer.module}@${version}`,
    package: peer.package,
    sums: hashFiles([join(folder, "go.mod"), join(folder, "go.sum")]),
    source: peer.package.startsWith("./") ? hashFiles(goFiles(join(folder, peer.package))) : "none",
    linker: linkerFlags(peer, version),
  };
  return `${JSON.stringify(stamp, null, 2)}\n`;
}

export function isBuilt(peer: BuiltPeer): boolean {
  const stamp = stampPath(peer);
  return existsSync(executablePath(peer)) && existsSync(stamp) && readFileSync(stamp, "utf8") === wantedStamp(peer);
}

function goFiles(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".go"));
  return names.sort().map((name) => join(folder, name));
}

function hashFiles(paths: readonly string[]): string {
  const hash = createHash("sha256");
  for (const path of paths) hash.update(readFileSync(path)).update("\0");
  return hash.digest("hex");
}
