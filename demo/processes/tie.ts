import { spawnSync } from "node:child_process";

/** Whether the kernel can be asked to end a process when its parent ends, however that happens. */
export function canTieToParent(): boolean {
  return spawnSync("setpriv", ["--pdeathsig", "KILL", "--", "true"], { stdio: "ignore" }).status === 0;
}

export function tiedToParent(possible: boolean, signal: "KILL" | "TERM", argv: readonly string[]): string[] {
  return possible ? ["setpriv", "--pdeathsig", signal, "--", ...argv] : [...argv];
}
