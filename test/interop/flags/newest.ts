/**
 * `npm run flags [REPOSITORY]`: builds the newest upstream, a release or not, and says which of its flags our programs
 * lack or have otherwise. Ends with 1 when there are any.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { goProblem } from "../../../peers/compile.js";
import { behindUpstream, readHelp } from "./compare.js";
import { deviations } from "./deviations.js";
import { ours, programs, run } from "./programs.js";

const [repository = "https://github.com/kubernetes-sigs/apiserver-network-proxy"] = process.argv.slice(2);
const work = mkdtempSync(join(tmpdir(), "db-newest-"));
try {
  process.exitCode = compare();
} catch (error) {
  // git and go have said why.
  process.stderr.write(`flags: the newest upstream could not be built from ${repository}: ${String(error)}\n`);
  process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}

function compare(): number {
  const problem = goProblem();
  if (problem !== undefined) throw new Error(problem);
  const source = join(work, "source");
  const call = (command: string, args: readonly string[], options = {}) =>
    execFileSync(command, args, { stdio: ["ignore", "pipe", "inherit"], encoding: "utf8", ...options });
  call("git", ["clone", "--quiet", "--depth=1", repository, source]);
  const version = call("git", ["-C", source, "log", "-1", "--format=%h of %cs"]).trim();
  process.stdout.write(`flags: building upstream ${version}\n`);
  // What it vendors may be left out of a clone.
  const env = { ...process.env, CGO_ENABLED: "0", GOWORK: "off", GOFLAGS: "-mod=mod" };
  call("go", ["build", "-o", `${work}/`, "./cmd/server", "./cmd/agent"], { cwd: source, env });
  const behind = programs.flatMap((program) => {
    const newest = readHelp(run(join(work, program.replace("proxy-", "")), ["--help"]).stdout);
    if (newest.size < 40) throw new Error(`the --help of its ${program} cannot be read`);
    const lines = behindUpstream(newest, readHelp(ours(program)("--help").stdout), deviations[program]);
    return lines.map((line) => `flags: ${program}: ${line}`);
  });
  for (const line of behind) process.stdout.write(`${line}\n`);
  if (behind.length === 0) process.stdout.write("flags: ours have all that upstream's have\n");
  return behind.length === 0 ? 0 : 1;
}
