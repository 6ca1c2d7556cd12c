import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** Waits for a compiler's end; a failure is quoted, with the Debian packages that it may want. */
export async function succeed(compiler: ChildProcess, packages: string | undefined): Promise<void> {
  let complaint = "";
  compiler.stderr?.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-8_000);
  });
  const [code, signal] = await once(compiler, "close");
  if (code === 0) return;
  const advice = packages === undefined ? "" : `; install ${packages}, then run this again`;
  const name = compiler.spawnfile;
  throw new Error(`${name} could not build it (${signal ?? `exit ${code}`})${advice}\n${complaint.trim()}`);
}
