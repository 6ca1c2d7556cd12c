import { spawn, spawnSync } from "node:child_process";
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { CratePeer } from "./catalogue.js";
import { succeed } from "./succeed.js";

/** Why cargo cannot be used here, in one sentence; undefined when it can. */
export function cargoProblem(): string | undefined {
  const { error, status } = spawnSync("cargo", ["--version"], { stdio: "ignore" });
  return error || status !== 0
    ? "No usable cargo was found on PATH: install Rust to build peers from the crates registry."
    : undefined;
}

/** All that the build leaves behind but the executable is in a folder beside it and is removed. */
export async function runCargo({ name, crate, version, headers }: CratePeer, output: string): Promise<void> {
  const root = `${output}.build`;
  try {
    const cargo = spawn("cargo", ["install", crate, "--version", `=${version}`, "--root", root], {
      env: { ...process.env, CARGO_TARGET_DIR: join(root, "target") },
      stdio: ["ignore", "ignore", "pipe"],
    });
    await succeed(cargo, `gcc, ${headers}`);
    renameSync(join(root, "bin", name), output);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
