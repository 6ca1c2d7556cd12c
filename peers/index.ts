import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { executablePath, isBuilt } from "./cache.js";
import { builtPeers, isCrate, systemPeers } from "./catalogue.js";

/** The real component of that name: the one built from our pinned version first, then (where that is allowed) PATH's. */
export function peerPath(name: string): string | undefined {
  const built = builtPeers.find((peer) => peer.name === name);
  if (!built && !systemPeers.has(name)) throw new Error(`there is no peer called ${name}`);
  if (built && isBuilt(built)) return executablePath(built);
  return systemPeers.has(name) ? onPath(name) : undefined;
}

/**
 * For tests: undefined means "skip, the reason is printed"; with DRAWBRIDGE_REQUIRE_PEERS=1 a missing peer is a failure.
 */
export function requirePeer(name: string): string | undefined {
  const path = peerPath(name);
  if (path !== undefined) return path;
  const advice = `${name} is missing: ${remedy(name)}.`;
  if (process.env.DRAWBRIDGE_REQUIRE_PEERS === "1") throw new Error(advice);
  process.stderr.write(`skipped: ${advice}\n`);
  return undefined;
}

function remedy(name: string): string {
  const debianPackage = systemPeers.get(name);
  return debianPackage
    ? `install the Debian package ${debianPackage} (.ci/install-packages does it)`
    : `run npm run peers -- ${name} (needs ${builtPeers.some((peer) => peer.name === name && isCrate(peer)) ? "cargo" : "Go 1.21 or newer"})`;
}

export function onPath(name: string): string | undefined {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    if (folder === "") continue;
    const candidate = join(folder, name);
    if (isExecutable(candidate)) return candidate;
  }
  return undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
