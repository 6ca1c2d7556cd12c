import { spawnSync } from "node:child_process";
import { openFileLimit } from "./results/machine.js";

const WANTED = 16_384;

/** Raises this process's limit, which all that it starts inherit; a sentence when that was not allowed. */
export function raiseOpenFiles(): string | undefined {
  if (openFileLimit() >= WANTED) return undefined;
  const { status } = spawnSync("prlimit", [`--pid=${process.pid}`, `--nofile=${WANTED}:${WANTED}`], {
    stdio: "ignore",
  });
  if (status === 0 && openFileLimit() >= WANTED) return undefined;
  return `Only ${openFileLimit()} files may be open: raise it (ulimit -n ${WANTED}) or leave out the rows with thousands of tunnels.`;
}
