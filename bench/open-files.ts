import { spawnSync } from "node:child_process";
import { openFileLimit } from "./results/machine.js";

const USUAL = 16_384;

/** Raises this process's limit, which all that it starts inherit; a sentence when that was not allowed. */
export function raiseOpenFiles(least = USUAL): string | undefined {
  const wanted = Math.max(USUAL, Math.ceil(least));
  if (openFileLimit() >= wanted) return undefined;
  const { status } = spawnSync("prlimit", [`--pid=${process.pid}`, `--nofile=${wanted}:${wanted}`], {
    stdio: "ignore",
  });
  if (status === 0 && openFileLimit() >= wanted) return undefined;
  return `Only ${openFileLimit()} files may be open: raise it (ulimit -n ${wanted}) or leave out the rows with thousands of tunnels.`;
}
