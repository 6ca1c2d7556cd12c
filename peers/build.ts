/** `tsx peers/build.ts [--check] [names...]`: fills the cache with the real peers, or says what is missing in it. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../src/base/errors/error.js";
import { cacheFolder, isBuilt, pinnedVersion } from "./cache.js";
import { cargoProblem } from "./cargo.js";
import { type BuiltPeer, builtPeers, isCrate } from "./catalogue.js";
import { compile, goProblem } from "./compile.js";
import { withLock } from "./lock.js";

const HEARTBEAT_MS = 15_000;

const say = (line: string) => process.stdout.write(`${line}\n`);
const complain = (line: string) => process.stderr.write(`${line}\n`);

function choose(names: readonly string[]): readonly BuiltPeer[] {
  const unknown = names.find((name) => !builtPeers.some((peer) => peer.name === name));
  if (unknown !== undefined) {
    throw new Error(
      `There is no peer called ${unknown}; choose from ${builtPeers.map((peer) => peer.name).join(", ")}.`,
    );
  }
  return builtPeers.filter((peer) => (names.length === 0 ? !peer.onlyByName : names.includes(peer.name)));
}

function check(peers: readonly BuiltPeer[]): boolean {
  for (const peer of peers) say(`${isBuilt(peer) ? "present" : "missing"}  ${peer.name} ${pinnedVersion(peer)}`);
  return peers.every(isBuilt);
}

/** Whether all are there; a peer that cannot be built does not stop the others. */
async function build(peers: readonly BuiltPeer[]): Promise<boolean> {
  const missing = peers.filter((peer) => !isBuilt(peer));
  if (missing.length > 0) {
    const problem = toolchainProblem(missing);
    if (problem !== undefined) throw new Error(problem);
    mkdirSync(join(cacheFolder(), ".locks"), { recursive: true });
  }
  const failures: string[] = [];
  for (const [index, peer] of missing.entries()) {
    const label = `[${index + 1}/${missing.length}] ${peer.name} ${pinnedVersion(peer)}`;
    try {
      await buildOne(peer, label);
    } catch (error) {
      say(`${label}: failed`);
      failures.push(`peers: ${peer.name} is missing: ${messageOf(error)}`);
    }
  }
  say(`peers: ${peers.length - failures.length} of ${peers.length} ready`);
  for (const failure of failures) complain(failure);
  return failures.length === 0;
}

function toolchainProblem(peers: readonly BuiltPeer[]): string | undefined {
  const ofGo = peers.every(isCrate) ? undefined : goProblem();
  return ofGo ?? (peers.some(isCrate) ? cargoProblem() : undefined);
}

async function buildOne(peer: BuiltPeer, label: string): Promise<void> {
  const started = Date.now();
  const elapsed = () => `${Math.round((Date.now() - started) / 1000)} s`;
  const lock = join(cacheFolder(), ".locks", peer.name);
  const onWait = () => say(`${label}: another process is building it, waiting`);
  await withLock(lock, onWait, async () => {
    if (isBuilt(peer)) return say(`${label}: built by another process`);
    say(`${label}: building`);
    const heartbeat = setInterval(() => say(`${label}: still building, ${elapsed()}`), HEARTBEAT_MS);
    try {
      await compile(peer);
    } finally {
      clearInterval(heartbeat);
    }
    say(`${label}: done in ${elapsed()}`);
  });
}

async function main(args: readonly string[]): Promise<number> {
  const flag = args.find((arg) => arg.startsWith("-") && arg !== "--check");
  if (flag !== undefined) throw new Error(`Unknown flag ${flag}; the only one is --check.`);
  const peers = choose(args.filter((arg) => arg !== "--check"));
  say(`peers: cache ${cacheFolder()}`);
  if (args.includes("--check")) return check(peers) ? 0 : 1;
  return (await build(peers)) ? 0 : 1;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  complain(messageOf(error));
  process.exitCode = 1;
}
