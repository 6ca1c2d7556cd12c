import { spawnSync } from "node:child_process";

/** What bash has against a script, undefined when nothing; "" when there is no bash here to ask. */
export function bashObjection(script: string): string | undefined {
  const { status, stderr, error } = spawnSync("bash", ["--norc", "-n", "-s"], {
    input: script,
    encoding: "utf8",
    timeout: 10_000,
  });
  if (error !== undefined) return "";
  return status === 0 ? undefined : (stderr.trim().split("\n")[0] ?? "bash refused it");
}
