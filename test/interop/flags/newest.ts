/**
 * `npm run flags [VERSION]`: builds the newest release of upstream's Go module, or the one that is named, and says which of
 * its flags our programs lack or have otherwise. Ends with 1 when there are any.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { goProblem } from "../../../peers/compile.js";
import { messageOf } from "../../../src/base/errors/error.js";
import { behindUpstream, readHelp } from "./compare.js";
import { deviations } from "./deviations.js";
import { ours, programs, run } from "./programs.js";

const MODULE = "sigs.k8s.io/apiserver-network-proxy";
const [wanted = "latest"] = process.argv.slice(2);
const work = mkdtempSync(join(tmpdir(), "db-newest-"));
try {
  process.exitCode = compare();
} catch (error) {
  // go has said why.
  process.stderr.write(`flags: ${MODULE}@${wanted} could not be built: ${messageOf(error)}\n`);
  process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}

function compare(): number {
  const problem = goProblem();
  if (problem !== undefined) throw new Error(problem);
  const env = { ...process.env, CGO_ENABLED: "0", GOWORK: "off", GOFLAGS: "-mod=mod" };
  const go = (...args: readonly string[]) =>
    execFileSync("go", args, { cwd: work, env, stdio: ["ignore", "pipe", "inherit"], encoding: "utf8" });
  go("mod", "init", "drawbridge.invalid/newest");
  go("get", `${MODULE}@${wanted}`);
  process.stdout.write(`flags: building upstream ${go("list", "-m", "-f", "{{.Version}}", MODULE).trim()}\n`);
  go("build", "-o", `${work}/`, `${MODULE}/cmd/server`, `${MODULE}/cmd/agent`);
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
