import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { peerPath, requirePeer } from "../../../peers/index.js";

/** Whose implementation a process runs. */
export type Origin = "ours" | "theirs";
export type Program = "proxy-server" | "proxy-agent";

export function executable(origin: Origin, program: Program): string {
  return origin === "ours" ? ours(program) : theirs(program);
}

/** Ours alone, or HyperShift's by their names. */
type Other = "drawbridge" | "konnectivity-socks5-proxy" | "konnectivity-https-proxy";

/** DRAWBRIDGE_EXECUTABLE names the drawbridge that is tried instead of dist/bin/drawbridge, the single executable say. */
export function ours(program: Program | Other): string {
  if (program === "drawbridge" && process.env.DRAWBRIDGE_EXECUTABLE) return process.env.DRAWBRIDGE_EXECUTABLE;
  const path = fileURLToPath(new URL(`../../../dist/bin/${program}`, import.meta.url));
  if (!existsSync(path)) throw new Error(`dist/bin/${program} is missing: run npm run build.`);
  return path;
}

/** One of upstream's programs; call `peersAvailable` before. */
export function theirs(name: Program | "grpc-dialer"): string {
  const path = peerPath(name);
  if (path === undefined) throw new Error(`${name} is missing: run npm run peers -- ${name}.`);
  return path;
}

/** Whether all of these real peers are there; when not, one line says so, or it is a failure (DRAWBRIDGE_REQUIRE_PEERS=1). */
export function peersAvailable(...names: (Program | "grpc-dialer")[]): boolean {
  return names.every((name) => requirePeer(name) !== undefined);
}
