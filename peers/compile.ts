import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheFolder, executablePath, moduleFolder, pinnedVersion, stampPath, wantedStamp } from "./cache.js";
import { runCargo } from "./cargo.js";
import { type BuiltPeer, type GoPeer, isCrate, linkerFlags } from "./catalogue.js";
import { succeed } from "./succeed.js";

const OLDEST_GO = { major: 1, minor: 21 };

/** Why Go cannot be used here, in one sentence; undefined when it can. From 1.21 on Go fetches newer toolchains itself. */
export function goProblem(): string | undefined {
  const answer = spawnSync("go", ["env", "GOVERSION"], { encoding: "utf8" });
  if (answer.error || answer.status !== 0) {
    return "No usable Go toolchain was found on PATH: install Go 1.21 or newer to build the real peers.";
  }
  const [, major = "0", minor = "0"] = /^go(\d+)\.(\d+)/.exec(answer.stdout) ?? [];
  const isTooOld = Number(major) === OLDEST_GO.major && Number(minor) < OLDEST_GO.minor;
  return isTooOld
    ? `Go ${major}.${minor} is too old to build the real peers: install Go 1.21 or newer, or put it first on PATH.`
    : undefined;
}

/** Builds one peer and puts it into the cache in one step, so a reader sees the old executable or the new, never half. */
export async function compile(peer: BuiltPeer): Promise<void> {
  const unfinished = join(cacheFolder(), `.${peer.name}.${process.pid}`);
  const stamp = wantedStamp(peer);
  try {
    await (isCrate(peer) ? runCargo(peer, unfinished) : runGo(peer, unfinished));
    // No stamp must ever vouch for an executable it does not describe, whatever interrupts us between the two renames.
    rmSync(stampPath(peer), { force: true });
    renameSync(unfinished, executablePath(peer));
    mkdirSync(dirname(stampPath(peer)), { recursive: true });
    writeFileSync(`${stampPath(peer)}.${process.pid}`, stamp);
    renameSync(`${stampPath(peer)}.${process.pid}`, stampPath(peer));
  } finally {
    rmSync(unfinished, { force: true });
  }
}

async function runGo(peer: GoPeer, output: string): Promise<void> {
  const verb = peer.test ? ["test", "-c"] : ["build"];
  const flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", linkerFlags(peer, pinnedVersion(peer))];
  const go = spawn("go", [...verb, ...flags, "-o", output, peer.package], {
    cwd: moduleFolder(peer),
    // Static executables run in any namespace and root; a surrounding workspace or GOFLAGS must not change what is built.
    env: { ...process.env, CGO_ENABLED: peer.headers === undefined ? "0" : "1", GOWORK: "off", GOFLAGS: "" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  await succeed(go, peer.headers === undefined ? undefined : `gcc and ${peer.headers}`);
}
